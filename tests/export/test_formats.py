"""Each format gives back what was exported: raw ids beside float32 numbers to the bit, block by block, in bounded memory."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from safetensors.numpy import load_file

from marius_lite.errors import UserError
from marius_lite.export import datasets as layout
from marius_lite.export.format import FORMATS
from marius_lite.export.run import described
from marius_lite.export.word2vec import write_word2vec

ROWS, DIM = 57, 5
RNG = np.random.default_rng(0)
SPLITS = ("none", "train", "valid", "test")
VECTORS = (RNG.normal(size=(ROWS, DIM)) * 10.0 ** RNG.integers(-30, 30, (ROWS, DIM))).astype(np.float32)
WITH_LISTS = ("parquet", "datasets", "duckdb", "sqlite")


def blocks(ids, columns, size=10):
    for at in range(0, ROWS, size):
        yield ids[at : at + size], {key: values[at : at + size] for key, values in columns.items()}


def written(folder, format, ids, columns, names=None):
    folder.mkdir()
    described(format).write(folder, "nodes", blocks(ids, columns), ROWS, names or {})
    described(format).finish(folder, {"nodes": ROWS, "tables": ["nodes"], "program_version": "1"})
    return folder


def ids_beside(folder):
    file = folder / "nodes_ids.npy"
    return np.load(file).tolist() if file.exists() else (folder / "nodes_ids.txt").read_text(encoding="utf-8").splitlines()


def of_parquet(folder):
    table = pq.read_table(folder / "nodes.parquet")
    return table["raw_id"].to_pylist(), np.array(table["vector"].to_pylist(), np.float32)


def of_datasets(folder):
    """By the library itself, where it is installed."""
    library = pytest.importorskip("datasets", reason="datasets is not installed")
    found = library.load_dataset(str(folder), "nodes", split="train", cache_dir=str(folder / "cache"))
    return found["raw_id"][:], np.array(found["vector"][:], np.float32)


def of_safetensors(folder):
    tensors = load_file(folder / "nodes.safetensors")
    return tensors["raw_id"].tolist() if "raw_id" in tensors else ids_beside(folder), tensors["vector"]


def of_word2vec(folder):
    first, *lines = (folder / "nodes.txt").read_text(encoding="utf-8").splitlines()
    assert first == f"{ROWS} {DIM}"
    words = [line.split(" ") for line in lines]
    ids = [word[0] for word in words]
    return [int(raw) if raw.isdigit() else raw for raw in ids], np.array([[np.float32(n) for n in word[1:]] for word in words])


def of_sqlite(folder):
    with closing(sqlite3.connect(folder / "vectors.db")) as connection:
        rows = connection.execute("SELECT raw_id, vector FROM nodes ORDER BY rowid").fetchall()
        plan = connection.execute("EXPLAIN QUERY PLAN SELECT vector FROM nodes WHERE raw_id = 1").fetchall()
    assert "nodes_raw_id" in str(plan)
    return [raw for raw, _ in rows], np.stack([np.frombuffer(blob, "<f4") for _, blob in rows])


def of_duckdb(folder):
    with closing(duckdb.connect(str(folder / "vectors.duckdb"), read_only=True)) as connection:
        rows = connection.sql("SELECT raw_id, vector FROM nodes ORDER BY rowid").fetchall()
        assert connection.sql("SELECT typeof(vector) FROM nodes LIMIT 1").fetchall()[0] == (f"FLOAT[{DIM}]",)
    return [raw for raw, _ in rows], np.array([vector for _, vector in rows], np.float32)


READ = {
    "parquet": of_parquet,
    "npy": lambda folder: (ids_beside(folder), np.load(folder / "nodes.npy")),
    "zarr": lambda folder: (ids_beside(folder), zarr.open_group(folder, mode="r")["nodes"][:]),
    "safetensors": of_safetensors,
    "word2vec": of_word2vec,
    "sqlite": of_sqlite,
    "duckdb": of_duckdb,
    "datasets": of_datasets,
}
IDS = {"int": pa.array(RNG.permutation(1000)[:ROWS]), "str": pa.array([f"nö'\"{i}" for i in range(ROWS)])}


def test_every_format_is_tested():
    assert READ.keys() == FORMATS.keys()


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("format", FORMATS)
def test_vectors_come_back_to_the_bit(format, kind, tmp_path):
    ids, vectors = READ[format](written(tmp_path / "out", format, IDS[kind], {"vector": VECTORS}))
    assert ids == IDS[kind].to_pylist()
    np.testing.assert_array_equal(vectors, VECTORS)


@pytest.fixture
def classes():
    """Columns of a run that classifies nodes: the main one first."""
    split = RNG.integers(0, 4, ROWS).astype(np.uint8)
    return {"probabilities": VECTORS, "split": split, "class": RNG.integers(0, 3, ROWS)}, {
        "split": SPLITS,
        "class": ["a", "b", "c"],
    }


def rows_of(format, folder):
    """(raw_id, split, class or classes) of each row."""
    if format == "sqlite":
        with closing(sqlite3.connect(folder / "vectors.db")) as connection:
            return connection.execute("SELECT * FROM nodes ORDER BY rowid").fetchall()
    if format == "duckdb":
        with closing(duckdb.connect(str(folder / "vectors.duckdb"), read_only=True)) as connection:
            return connection.sql("SELECT * FROM nodes ORDER BY rowid").fetchall()
    table = pq.read_table(folder / ("nodes" if format == "datasets" else "nodes.parquet"))
    return list(zip(*table.to_pydict().values()))


@pytest.mark.parametrize("format", WITH_LISTS)
def test_classes_have_their_names(format, classes, tmp_path):
    columns, names = classes
    rows = rows_of(format, written(tmp_path / "out", format, IDS["str"], columns, names))
    expected = zip(IDS["str"].to_pylist(), columns["split"], columns["class"])
    assert [row[:3] for row in rows] == [(raw, SPLITS[split], "abc"[one]) for raw, split, one in expected]


@pytest.mark.parametrize("format", WITH_LISTS)
def test_several_classes_are_lists(format, tmp_path):
    has = RNG.random((ROWS, DIM)) < 0.3
    columns, names = {"probabilities": VECTORS, "classes": has}, {"classes": list("abcde")}
    rows = rows_of(format, written(tmp_path / "out", format, IDS["int"], columns, names))
    said = [json.loads(row[1]) if format == "sqlite" else row[1] for row in rows]
    assert said == [["abcde"[place] for place in np.flatnonzero(row)] for row in has]


def test_classes_in_tensors(classes, tmp_path):
    tensors = load_file(written(tmp_path / "out", "safetensors", IDS["int"], *classes) / "nodes.safetensors")
    assert {key: values.tolist() for key, values in tensors.items()} == {
        key: np.asarray(values).tolist() for key, values in {**classes[0], "raw_id": IDS["int"]}.items()
    }


def test_word2vec_refuses_what_it_cannot_hold(classes, tmp_path):
    with pytest.raises(UserError, match="--format word2vec: holds vectors, not the classes of nodes"):
        written(tmp_path / "a", "word2vec", IDS["int"], *classes)
    for at, odd in enumerate(["a b", "a\nb", "", "a\u00a0b"]):
        ids = pa.array([odd, *IDS["str"].to_pylist()[1:]])
        with pytest.raises(UserError, match="has white space, which parts numbers" if odd else "is empty, which"):
            written(tmp_path / str(at), "word2vec", ids, {"vector": VECTORS})


def test_word2vec_names_the_only_relation(tmp_path):
    write_word2vec(tmp_path, "relations", iter([(pa.array([""]), {"vector": VECTORS[:1]})]), 1, {})
    assert (tmp_path / "relations.txt").read_text().splitlines()[1].split()[0] == "relation"


@pytest.mark.parametrize("rows", [1, 10, 19, 57])
def test_files_of_the_hub_are_as_large_as_it_advises(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "FILE_BYTES", rows * pa.table({"raw_id": IDS["int"], "v": list(VECTORS)}).nbytes // ROWS)
    folder = written(tmp_path / "out", "datasets", IDS["int"], {"vector": VECTORS})
    files = sorted((folder / "nodes").iterdir())
    assert {path.name.partition("-of-")[2] for path in files} == {f"{len(files):05}.parquet"}
    assert pa.concat_tables(map(pq.read_table, files))["raw_id"].to_pylist() == IDS["int"].to_pylist()
    assert (len(files) > 1) == (rows < ROWS // 2 or rows == 19)


MEMORY = """
import resource, sys
from pathlib import Path
import numpy as np, pyarrow as pa
from marius_lite.export.run import described
folder, format, blocks = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rows, rng = 1 << 14, np.random.default_rng(0)
values = rng.normal(size=(rows, 64)).astype(np.float32)
folder.mkdir()
given = ((pa.array(np.arange(at * rows, (at + 1) * rows)), {"vector": values}) for at in range(blocks))
described(format).write(folder, "nodes", given, rows * blocks, {})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_memory_does_not_grow_with_the_rows(format, tmp_path):
    """240 MB more of vectors take less than half of that; DuckDB may take 256 MB by itself."""

    def peak(count):
        command = [sys.executable, "-c", MEMORY, str(tmp_path / str(count)), format, str(count)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) * 1024

    first = 60 if format == "duckdb" else 4
    assert peak(first + 60) - peak(first) < 120e6
