"""Whatever holds rows in memory makes the dataset that a Parquet or .npy file of the same rows makes, without a copy of all."""

import subprocess
import sys

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from preprocess_tools import data_files, decoded, make

from marius_lite.errors import UserError

RNG = np.random.default_rng(0)
SRC, DST = RNG.integers(0, 500, 3000), RNG.integers(0, 500, 3000)
NAMED = pa.table({"src": [f"n{i}" for i in SRC], "rel": [f"r{i % 3}" for i in DST], "dst": [f"n{i}" for i in DST]})
NUMBERED = pa.table({"src": SRC, "dst": DST})


def but_sources(folder):
    return {path: data for path, data in data_files(folder).items() if path.name != "zarr.json"}


def pandas_frame(table):
    return pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(table.to_pydict())


TABLES = {
    "table": lambda table: table,
    "batches": lambda table: pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(100))),
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "polars": polars.from_arrow,
    "pandas": pandas_frame,
    "categories": lambda table: polars.from_arrow(table).with_columns(polars.all().cast(polars.String).cast(polars.Categorical)),
}


@pytest.mark.parametrize("rows", [NAMED, NUMBERED], ids=["named", "numbered"])
@pytest.mark.parametrize("form", TABLES)
def test_tables(tmp_path, rows, form):
    pq.write_table(rows, tmp_path / "edges.parquet")
    options = {"split": "0.8,0.1,0.1", "partitions": 2, "ids": "str" if form == "categories" else "auto"}
    expected = make(tmp_path / "file", tmp_path / "edges.parquet", **options)
    made = make(tmp_path / "d", TABLES[form](rows), **options)
    assert but_sources(made.path) == but_sources(expected.path)
    assert [source.name for source in made.manifest.sources] == ["edges"]


@pytest.mark.parametrize("form", [np.asarray, torch.from_numpy, np.asfortranarray, lambda array: array[::-1][::-1]])
def test_arrays(tmp_path, form):
    edges, features = np.stack([SRC, DST], 1), RNG.normal(size=(500, 6)).astype(np.float32)
    labels, mask = RNG.integers(0, 4, 500), RNG.random(500) < 0.5
    given = {"features": features, "labels": labels, "train_nodes": mask, "test_nodes": np.flatnonzero(~mask)}
    for name, array in {"edges": edges, **given}.items():
        np.save(tmp_path / f"{name}.npy", array)
    expected = make(tmp_path / "file", tmp_path / "edges.npy", **{name: tmp_path / f"{name}.npy" for name in given})
    made = make(tmp_path / "d", form(edges), **{name: form(array) for name, array in given.items()})
    assert but_sources(made.path) == but_sources(expected.path)


def test_frames_with_ids_of_their_own(tmp_path):
    ids = RNG.permutation(500)
    frame = polars.DataFrame({"id": [f"n{i}" for i in ids], "x": ids / 2, "y": -ids})
    classes = polars.DataFrame({"id": [f"n{i}" for i in range(500)], "class": [f"c{i % 7}" for i in range(500)]})
    sets = {"train_nodes": frame["id"][:100], "test_nodes": pa.array([f"n{i}" for i in ids[100:]])}
    made = make(tmp_path / "d", [NAMED, NAMED.slice(0, 10)], features=frame, labels=classes, **sets, partitions=1)
    assert made.manifest.node_split == {"train": 100, "test": 400}
    raw = made.raw_ids(0, 500).to_pylist()
    assert made.features.read(0)[:500].tolist() == [[int(name[1:]) / 2, -int(name[1:])] for name in raw]
    assert sum(decoded(made).values()) == 3010


@pytest.mark.parametrize("value", ["1.5", "null"])
def test_a_frame_with_wrong_rows_is_an_error_that_names_it(tmp_path, value):
    column = pa.array([1, None]) if value == "null" else pa.array([1.0, 1.5])
    with pytest.raises(UserError, match=r"^edges(: row 1: dst: null|: column 'dst')"):
        make(tmp_path / "d", pa.table({"src": [1, 2], "dst": column}))


@pytest.mark.parametrize("value", [3, object(), np.array([[object()]]), polars.LazyFrame({"a": [1]})])
def test_what_holds_no_rows_is_refused(tmp_path, value):
    with pytest.raises(UserError, match=r"^edges: a.*: give a file's name, a query, an Arrow table"):
        make(tmp_path / "d", value)


STREAM = """
import resource, sys
import numpy as np, pyarrow as pa
from marius_lite.preprocess import make_dataset
schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
def batches():
    for part in range(int(sys.argv[2])):
        rng = np.random.default_rng(part)
        yield pa.record_batch([pa.array(rng.integers(0, 1 << 16, 1 << 18)) for _ in schema], schema)
make_dataset(pa.RecordBatchReader.from_batches(schema, batches()), sys.argv[1], memory="32MB", partitions=4)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_a_stream(tmp_path):
    """64 MB of rows instead of 8 MB take no more than the memory that is given."""

    def peak(parts):
        command = [sys.executable, "-c", STREAM, str(tmp_path / str(parts)), str(parts)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) * 1024

    assert peak(16) - peak(2) < 32e6
