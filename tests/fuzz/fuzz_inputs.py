"""Commands that preprocess raw inputs: good ones of each format, then damaged, with options that may not fit them."""

import bz2
import gzip
import io
import lzma
import pickle
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
from fuzz_files import MEMBERS, classes, column, damaged_zip, edge_array, formats, npy, odd_array, tarred, text_rows, zipped
from fuzz_judge import Command

NAMES = ["e.tsv", "e.csv", "e.txt", "e", "é e.tsv", "a:b.tsv", "-e.tsv", "[e].tsv"]


def preprocess(rng: Random, edges: list[str], *more: str) -> list[Command]:
    """The command, what reads all of its result, and options of which some are odd."""
    arguments = ["preprocess", *more, "--output", "d", "--memory", "16MB", "--partitions", "2", *_options(rng), "--", *edges]
    return [Command(arguments, makes="d"), Command(["info", "d", "--verify"])]


def text(rng: Random, folder: Path) -> list[Command]:
    """Delimited text."""
    name = rng.choice(NAMES)
    (folder / name).write_bytes(text_rows(rng))
    return preprocess(rng, [name])


def lines(rng: Random, folder: Path) -> list[Command]:
    """Formats that say what they are: .gr, MatrixMarket, METIS, N-Triples; also read as what they are not."""
    name, data = rng.choice(formats(rng))
    (folder / name).write_bytes(damaged(rng, data, tokens=True) if rng.random() < 0.9 else data)
    more = [] if rng.random() < 0.7 else ["--format", rng.choice(("gr", "metis", "mtx", "nt", "text"))]
    return preprocess(rng, [name], *more)


def arrays(rng: Random, folder: Path) -> list[Command]:
    """.npy and .npz of edges."""
    if rng.random() < 0.5:
        (folder / "e.npy").write_bytes(damaged(rng, npy(edge_array(rng)), rng.random() < 0.5))
        return preprocess(rng, ["e.npy"])
    parts: dict[str, Any] = rng.choice(
        (
            {"edges": edge_array(rng)},
            {"row": np.arange(9), "col": np.arange(9)[::-1].copy(), "shape": np.array([9, 9]), "w": np.linspace(0, 1, 9)},
            {
                "indptr": np.array([0, 2, 2, 3]),
                "indices": np.array([1, 2, 0]),
                "shape": np.array([3, 3]),
                "format": np.array(b"csr"),
            },
            {rng.choice(MEMBERS) or "x": edge_array(rng), "other": edge_array(rng)},
        )
    )
    for key in list(parts):
        if rng.random() < 0.2:
            parts[key] = odd_array(rng)
    (folder / "e.npz").write_bytes(damaged_zip(rng, {f"{key}.npy": npy(array) for key, array in parts.items()}))
    key = rng.choice(("", "", "", "", *(f":{key}" for key in parts), ":nothing"))
    return preprocess(rng, [f"e.npz{key}"], *rng.choice(([], ["--edge-weight", "w"], ["--timestamp", "w"])))


def archives(rng: Random, folder: Path) -> list[Command]:
    """Text that is packed, in archives or alone."""
    rows, member = text_rows(rng), rng.choice(MEMBERS)
    name, data = rng.choice(
        (
            ("e.tsv.gz", gzip.compress),
            ("e.tsv.bz2", bz2.compress),
            ("e.tsv.xz", lzma.compress),
            ("e.tsv.zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
            ("e.zip", lambda data: zipped({member: data, **rng.choice(({}, {"more.txt": data}))}, rng)),
            ("e.tar.gz", lambda data: gzip.compress(tarred({member: data}))),
            ("e.tar", lambda data: tarred({member: data, "b": data})),
            ("e.zip", lambda data: zipped({"e.gz": gzip.compress(data)}, rng)),
            ("e.zip", lambda _: zipped({"e.npy": npy(edge_array(rng))}, rng)),
        )
    )
    packed = data(rows)
    (folder / name).write_bytes(damaged(rng, packed) if rng.random() < 0.7 else packed)
    key = rng.choice(("", "", f":{member}", ":*.tsv", ":*", ":nothing")) if "zip" in name or "tar" in name else ""
    return preprocess(rng, [name + key])


def tables(rng: Random, folder: Path) -> list[Command]:
    """Parquet and Arrow."""
    columns = [column(rng) for _ in range(rng.choice((2, 2, 3, 3, 4, 1)))]
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
    data = zipped(members, rng, zipfile.ZIP_STORED if rng.random() < 0.9 else zipfile.ZIP_DEFLATED)
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
    np.save(folder / "y.npy", np.arange(12) % 3 if rng.random() < 0.6 else classes(rng))
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
        victim.write_bytes(npy(odd_array(rng)))
    elif rng.random() < 0.9:
        victim.write_bytes(damaged(rng, victim.read_bytes(), victim.suffix in (".txt", ".tsv", ".json")))
    more = rng.choice(([], [], ["--feature-dtype", rng.choice(("int8", "bfloat16"))])) if "--features" in chosen else []
    return preprocess(rng, ["e.tsv"], *(part for option in chosen for part in (option, given[option])), *more)


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


AREAS: dict[str, Callable[[Random, Path], list[Command]]] = {
    "text": text,
    "lines": lines,
    "arrays": arrays,
    "archives": archives,
    "tables": tables,
    "torch": torch_save,
    "nodes": nodes,
}
