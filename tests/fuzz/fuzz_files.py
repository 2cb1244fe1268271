"""What raw inputs are made of: rows of text, texts of each format, arrays, columns, archives; some of each are odd."""

import io
import tarfile
import zipfile
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from fuzz_damage import NUMBERS, damaged

MEMBERS = [
    "e.tsv",
    "a/e.tsv",
    "../e.tsv",
    "/abs.tsv",
    "\x1b[31me.tsv",
    "e\u202e.tsv",
    "é.tsv",
    "a b.tsv",
    ":x",
    "e.npy",
    "",
    ".",
    "a/",
]


def text_rows(rng: Random) -> bytes:
    """A few lines of delimited text, some of them with tokens in place of fields."""
    between = rng.choice((b"\t", b",", b" ", b";", b"|", b"  ", b" \t"))
    width, words = rng.choice((2, 2, 3, 3, 4)), rng.random() < 0.4
    end = rng.choice((b"\n", b"\n", b"\r\n"))
    rows = [
        between.join(b"%s%d" % (b"n" if words else b"", rng.randrange(20)) for _ in range(width))
        for _ in range(rng.choice((0, 1, 3, 30)))
    ]
    if rng.random() < 0.3:
        rows.insert(0, between.join([b"src", b"rel", b"dst", b"weight"][:width] if width > 2 else [b"src", b"dst"]))
    data = end.join([*rows, b""])
    if rng.random() < 0.1:
        data = rng.choice((b"# a comment\n", b"\n", b"\xef\xbb\xbf", b"#\n" * 70_000)) + data
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        data = damaged(rng, data, tokens=True)
    return data


def formats(rng: Random) -> list[tuple[str, bytes]]:
    symmetric = "".join(f"{i} {j}\n" for i in range(2, 7) for j in range(1, i))
    around = {i: [j for j in range(1, 7) if j != i] for i in range(1, 7)}
    return [
        ("g.gr", b"c about\np tw 6 5\n1 2\n2 3\n3 4\n4 5\n5 6\n"),
        ("g.gr", b"p sp 4 3\na 1 2 5\na 2 3 1\na 3 4 2\n"),
        ("g.col", b"p edge 4 3\ne 1 2\ne 2 3\ne 3 4\n"),
        ("g.mtx", f"%%MatrixMarket matrix coordinate pattern symmetric\n% said\n6 6 15\n{symmetric}".encode()),
        ("g.mtx", b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 1 -1e3\n"),
        ("g.graph", ("6 15\n" + "".join(" ".join(map(str, near)) + "\n" for near in around.values())).encode()),
        ("g.graph", b"% said\n3 2 011 1\n4 2 1\n5 1 1 3 7\n6 2 7\n"),
        ("g.nt", b'<a> <p> <b> .\n<b> <p> "lit"@en .\n_:x <q> <a> . # said\n<a> <p> "1"^^<int> .\n'),
    ]


def edge_array(rng: Random) -> Any:
    shape = rng.choice(((12, 2), (12, 3), (2, 12), (3, 2), (0, 2), (12, 4), (12,)))
    dtype = rng.choice(("i8", "i4", "u8", ">i4", "f8", "i1"))
    numbers = np.asarray([rng.randrange(12) for _ in range(int(np.prod(shape)))])
    return numbers.reshape(shape).astype(dtype, order=rng.choice("CF"))


def odd_array(rng: Random) -> Any:
    return rng.choice(
        (
            np.zeros((2**40, 0)),
            np.ones(12, "f2"),
            np.array([], int),
            np.array(5),
            np.array(["a", "b"]),
            np.array([b"x"]),
            np.zeros((2, 2, 2), int),
            np.array([1.5, np.nan]),
            np.array([2**63, 1], np.uint64),
            np.array([-1, 2]),
            np.array([1 + 2j]),
            np.array([True, False]),
            np.array(["2020"], "M8[s]"),
            np.zeros(3, [("a", "i4"), ("b", "f8")]),
            np.zeros((0, 3)),
            np.array(["", ""]),
        )
    )


def column(rng: Random) -> Any:
    ints = [rng.randrange(9) for _ in range(12)]
    texts = [rng.choice(("a", "b", "é", "")) for _ in range(12)]
    return rng.choice(
        (
            pa.array(ints),
            pa.array(ints, pa.int16()),
            pa.array(ints, pa.uint64()),
            pa.array([*ints[:-1], None]),
            pa.array(texts),
            pa.array(map(str, ints)),
            pa.array(texts, pa.large_string()),
            pa.array(texts, pa.string_view()),
            pa.array(texts).dictionary_encode(),
            pa.array(ints).dictionary_encode(),
            pa.array([*texts[:-1], None]),
            pa.array([i / 2 for i in ints]),
            pa.array([[i] for i in ints]),
            pa.array([{"a": i} for i in ints]),
            pa.array([None] * 12),
            pa.array([i % 2 == 0 for i in ints]),
            pa.array(ints, pa.timestamp("s")),
            pa.array([b"\xff"] * 12),
            pa.array([-1, *ints[1:]]),
            pa.array([2**64 - 1, *ints[1:]], pa.uint64()),
            pa.array([float("nan"), *ints[1:]], pa.float32()),
            pa.array([str(rng.choice(NUMBERS)) for _ in ints]),
            pa.array(ints, pa.decimal128(9)),
            pa.array(ints, pa.date32()),
        )
    )


def classes(rng: Random) -> Any:
    """For each node and class whether it has it, NaN or -1 where that is not known."""
    numbers = np.arange(12 * 9).reshape(12, 9) % 5 % 2
    return rng.choice(
        (
            numbers,
            numbers.astype(bool),
            numbers.astype(np.float32),
            np.where(numbers, np.nan, 0),
            numbers[:, :1],
            numbers - (numbers[:, :1] * 2),
            numbers[:5],
        )
    )


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def zipped(members: dict[str, bytes], rng: Random, method: int | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((0, 8, 12, 14)) if method is None else method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name or "e"), data, archive.compression)
    return out.getvalue()


def damaged_zip(rng: Random, members: dict[str, bytes]) -> bytes:
    """Damage inside the members, with right checksums, or to the archive."""
    if rng.random() < 0.6:
        name = rng.choice(sorted(members))
        members[name] = damaged(rng, members[name], rng.random() < 0.5)
        return zipped(members, rng)
    return damaged(rng, zipped(members, rng))


def tarred(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name or "e")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()
