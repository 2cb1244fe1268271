"""Raw inputs for `preprocess`: good ones of each format, then damaged, with options that may not fit them."""

import bz2
import gzip
import io
import lzma
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from fuzz_damage import NUMBERS, damaged
from fuzz_judge import Command

NAMES = ["e.tsv", "e.csv", "e.txt", "e", "é e.tsv", "a:b.tsv", "-e.tsv", "[e].tsv"]
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


def preprocess(rng: Random, edges: list[str], *more: str) -> list[Command]:
    """The command, what reads all of its result, and options of which some are odd."""
    arguments = ["preprocess", *more, "--output", "d", "--memory", "16MB", "--partitions", "2", *_options(rng), "--", *edges]
    return [Command(arguments, makes="d"), Command(["info", "d", "--verify"])]


def text(rng: Random, folder: Path) -> list[Command]:
    """Delimited text."""
    name = rng.choice(NAMES)
    (folder / name).write_bytes(_rows(rng))
    return preprocess(rng, [name])


def lines(rng: Random, folder: Path) -> list[Command]:
    """Formats that say what they are: .gr, MatrixMarket, METIS, N-Triples; also read as what they are not."""
    name, data = rng.choice(_formats(rng))
    (folder / name).write_bytes(damaged(rng, data, tokens=True) if rng.random() < 0.9 else data)
    more = [] if rng.random() < 0.7 else ["--format", rng.choice(("gr", "metis", "mtx", "nt", "text"))]
    return preprocess(rng, [name], *more)


def arrays(rng: Random, folder: Path) -> list[Command]:
    """.npy and .npz of edges."""
    if rng.random() < 0.5:
        (folder / "e.npy").write_bytes(damaged(rng, _npy(_edges(rng)), rng.random() < 0.5))
        return preprocess(rng, ["e.npy"])
    parts: dict[str, Any] = rng.choice(
        (
            {"edges": _edges(rng)},
            {"row": np.arange(9), "col": np.arange(9)[::-1].copy(), "shape": np.array([9, 9]), "w": np.linspace(0, 1, 9)},
            {
                "indptr": np.array([0, 2, 2, 3]),
                "indices": np.array([1, 2, 0]),
                "shape": np.array([3, 3]),
                "format": np.array(b"csr"),
            },
            {rng.choice(MEMBERS) or "x": _edges(rng), "other": _edges(rng)},
        )
    )
    for key in list(parts):
        if rng.random() < 0.2:
            parts[key] = _odd_array(rng)
    (folder / "e.npz").write_bytes(_damaged_zip(rng, {f"{key}.npy": _npy(array) for key, array in parts.items()}))
    key = rng.choice(("", "", "", "", *(f":{key}" for key in parts), ":nothing"))
    return preprocess(rng, [f"e.npz{key}"], *rng.choice(([], ["--edge-weight", "w"], ["--timestamp", "w"])))


def archives(rng: Random, folder: Path) -> list[Command]:
    """Text that is packed, in archives or alone."""
    rows, member = _rows(rng), rng.choice(MEMBERS)
    name, data = rng.choice(
        (
            ("e.tsv.gz", gzip.compress),
            ("e.tsv.bz2", bz2.compress),
            ("e.tsv.xz", lzma.compress),
            ("e.tsv.zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
            ("e.zip", lambda data: _zip({member: data, **rng.choice(({}, {"more.txt": data}))}, rng)),
            ("e.tar.gz", lambda data: gzip.compress(_tar({member: data}))),
            ("e.tar", lambda data: _tar({member: data, "b": data})),
            ("e.zip", lambda data: _zip({"e.gz": gzip.compress(data)}, rng)),
            ("e.zip", lambda _: _zip({"e.npy": _npy(_edges(rng))}, rng)),
        )
    )
    packed = data(rows)
    (folder / name).write_bytes(damaged(rng, packed) if rng.random() < 0.7 else packed)
    key = rng.choice(("", "", f":{member}", ":*.tsv", ":*", ":nothing")) if "zip" in name or "tar" in name else ""
    return preprocess(rng, [name + key])


def tables(rng: Random, folder: Path) -> list[Command]:
    """Parquet and Arrow."""
    columns = [_column(rng) for _ in range(rng.choice((2, 2, 3, 3, 4, 1)))]
    names = [rng.choice(("src", "dst", "rel", "weight", "a", "é", "", "\x1b[1m")) for _ in columns]
    if rng.random() < 0.5:
        names = ["src", "dst", "rel", "weight"][: len(columns)]
    table, out = pa.Table.from_arrays(columns, names=names), io.BytesIO()
    name = rng.choice(("e.parquet", "e.parquet", "e.arrow", "e.arrows"))
    if name == "e.parquet":
        pq.write_table(table, out, compression=rng.choice(("none", "snappy", "zstd")), row_group_size=rng.choice((3, 100)))
    else:
        with (pa.ipc.new_file if name == "e.arrow" else pa.ipc.new_stream)(out, table.schema) as writer:
            writer.write_table(table)
    (folder / name).write_bytes(damaged(rng, out.getvalue()) if rng.random() < 0.7 else out.getvalue())
    return preprocess(rng, [name], *rng.choice(([], [], ["--edge-weight", "weight"], ["--columns", f"{names[0]},{names[-1]}"])))


def torch_save(rng: Random, folder: Path) -> list[Command]:
    """What torch.save writes: a pickle in a zip archive. Mostly the pickle is damaged, so that its checksum is right."""
    import torch

    edges = torch.arange(40).reshape(2, 20) % 7
    graph = {"edge_index": edges}
    saved = rng.choice((edges, graph, {**graph, "edge_type": edges[0] % 2, "num_nodes": 9}, (graph, None)))
    if rng.random() < 0.3:
        saved = {**graph, "num_nodes": rng.choice(NUMBERS), "x": rng.choice((None, "text", {1: (2, 3)}, torch.zeros(9, 2)))}
    out = io.BytesIO()
    torch.save(saved, out, pickle_protocol=rng.choice((2, 4)))
    with zipfile.ZipFile(out) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    pickled = next(one for one in members if one.endswith("data.pkl"))
    if rng.random() < 0.1:
        members[pickled] = pickle.dumps(rng.choice((NUMBERS, {"edge_index": NUMBERS}, "text", {"edge_index": {}})))
    if rng.random() < 0.8:
        members[pickled] = damaged(rng, members[pickled])
    data = _zip(members, rng, zipfile.ZIP_STORED if rng.random() < 0.9 else zipfile.ZIP_DEFLATED)
    (folder / "e.pt").write_bytes(damaged(rng, data) if rng.random() < 0.3 else data)
    return preprocess(rng, ["e.pt"])


def nodes(rng: Random, folder: Path) -> list[Command]:
    """What is said of nodes: features, labels, ids, types, splits."""
    (folder / "e.tsv").write_bytes(b"".join(b"%d\t%d\n" % (i, (3 * i + 1) % 12) for i in range(12)))
    given = {
        "--features": _features(rng, folder),
        "--labels": "y.npy",
        "--node-types": "t.tsv",
        "--node-ids": "ids.txt",
        "--train-nodes": "train.txt",
    }
    np.save(folder / "y.npy", np.arange(12) % 3 if rng.random() < 0.6 else _classes(rng))
    (folder / "t.tsv").write_text("".join(f"{i}\tkind{i % 3}\n" for i in range(12)))
    (folder / "ids.txt").write_text("".join(f"{i}\n" for i in range(12)))
    (folder / "train.txt").write_text("0\n5\n7\n")
    chosen = [option for option in given if rng.random() < 0.5] or ["--features"]
    if "--train-nodes" in chosen and "--labels" not in chosen:
        chosen.append("--labels")
    victim = folder / given[rng.choice(chosen)]
    if victim.is_dir():
        victim = rng.choice(sorted(path for path in victim.rglob("*") if path.is_file()))
    if rng.random() < 0.2 and victim.suffix == ".npy":
        victim.write_bytes(_npy(_odd_array(rng)))
    elif rng.random() < 0.9:
        victim.write_bytes(damaged(rng, victim.read_bytes(), victim.suffix in (".txt", ".tsv", ".json")))
    more = rng.choice(([], [], ["--feature-dtype", rng.choice(("int8", "bfloat16"))])) if "--features" in chosen else []
    return preprocess(rng, ["e.tsv"], *(part for option in chosen for part in (option, given[option])), *more)


def _classes(rng: Random) -> Any:
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


def _features(rng: Random, folder: Path) -> str:
    rows = np.linspace(-1, 1, 36, dtype=np.float32).reshape(12, 3)
    name = rng.choice(("x.npy", "x.npz", "x.parquet", "x.zarr"))
    if name == "x.npy":
        np.save(folder / name, rows)
    elif name == "x.npz":
        np.savez(folder / name, indptr=np.arange(13), indices=np.arange(12) % 3, data=np.ones(12), shape=np.array([12, 3]))
    elif name == "x.parquet":
        pq.write_table(pa.table({str(k): rows[:, k] for k in range(3)}), folder / name)
    else:
        array = zarr.create_array(folder / name, shape=rows.shape, chunks=(5, 3), dtype="float32", zarr_format=rng.choice((2, 3)))
        array[...] = rows
    return name


def _options(rng: Random) -> list[str]:
    found = []
    for values in (
        ["--ids=auto", "--ids=int", "--ids=str"],
        ["--header=yes", "--header=no"],
        ["--on-bad-row=skip"] * 3,
        ["--undirected"],
        ["--drop-duplicates"],
        ["--drop-self-loops"],
        ["--adjacency=in"],
        ["--split=0.8,0.1,0.1"],
        ["--columns=src,dst", "--columns=src,rel,dst", "--columns=src,_,dst", "--columns=src,dst,weight"],
        ["--delimiter=comma", "--delimiter=whitespace", "--delimiter=;"],
        ["--comment=", "--comment=c", "--comment=%"],
        ["--partitioner=locality"],
        ["--seed=7"],
    ):
        if rng.random() < 0.12:
            found.append(rng.choice(values))
    return found


def _rows(rng: Random) -> bytes:
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


def _formats(rng: Random) -> list[tuple[str, bytes]]:
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


def _edges(rng: Random) -> Any:
    shape = rng.choice(((12, 2), (12, 3), (2, 12), (3, 2), (0, 2), (12, 4), (12,)))
    dtype = rng.choice(("i8", "i4", "u8", ">i4", "f8", "i1"))
    numbers = np.asarray([rng.randrange(12) for _ in range(int(np.prod(shape)))])
    return numbers.reshape(shape).astype(dtype, order=rng.choice("CF"))


def _odd_array(rng: Random) -> Any:
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


def _column(rng: Random) -> Any:
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


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def _zip(members: dict[str, bytes], rng: Random, method: int | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((0, 8, 12, 14)) if method is None else method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name or "e"), data, archive.compression)
    return out.getvalue()


def _damaged_zip(rng: Random, members: dict[str, bytes]) -> bytes:
    """Damage inside the members, with right checksums, or to the archive."""
    if rng.random() < 0.6:
        name = rng.choice(sorted(members))
        members[name] = damaged(rng, members[name], rng.random() < 0.5)
        return _zip(members, rng)
    return damaged(rng, _zip(members, rng))


def _tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name or "e")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


AREAS: dict[str, Callable[[Random, Path], list[Command]]] = {
    "text": text,
    "lines": lines,
    "arrays": arrays,
    "archives": archives,
    "tables": tables,
    "torch": torch_save,
    "nodes": nodes,
}
