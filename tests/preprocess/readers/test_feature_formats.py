"""The same features from every format make the same table; what is wrong with a file is one line."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_rows import csr, formats
from preprocess_tools import data_files, make

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.features import FeatureFile

DTYPES = st.sampled_from([np.float16, np.float32, np.float64, np.int16, np.uint8, np.bool_])


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(1, 9), DTYPES, st.integers(1, 40), st.integers(1, 40), st.integers(0, 99))
def test_every_format_gives_the_same_rows(rows, width, dtype, block, chunk, seed):
    rng = np.random.default_rng(seed)
    array = (rng.integers(0, 100, (rows, width)) * (rng.random((rows, width)) < 0.3)).astype(dtype)
    with tempfile.TemporaryDirectory() as name:
        for file in formats(Path(name), array, chunk):
            opened = FeatureFile(Path(name) / file)
            assert (opened.rows, opened.width, opened.source_dtype) == (rows, width, array.dtype), file
            found = list(opened.blocks(block))
            assert max(len(part) for _, part in found) <= block
            assert [first for first, _ in found] == np.cumsum([0, *(len(part) for _, part in found)])[:-1].tolist()
            values = np.concatenate([part for _, part in found])
            assert values.dtype == (np.float16 if dtype == np.float16 else np.float32)
            assert np.array_equal(values, array), file


def test_every_format_makes_the_same_dataset(tmp_path):
    rng = np.random.default_rng(0)
    array = np.where(rng.random((500, 40)) < 0.2, rng.standard_normal((500, 40)), 0).astype(np.float32)
    np.save(tmp_path / "e.npy", rng.integers(0, 500, (900, 2)))
    found = {}
    for file in formats(tmp_path, array, 64):
        out = tmp_path / f"d-{file.replace(':', '-')}"
        make(out, tmp_path / "e.npy", features=tmp_path / file, partitions=3, memory="1MiB").verify()
        found[file] = {path: data for path, data in data_files(out).items() if path != Path("zarr.json")}
    assert all(data == found["a.npy"] for data in found.values())


@pytest.mark.parametrize("splits", [False, True])
def test_sparse_entries_in_any_order_are_added(tmp_path, splits):
    array = np.arange(3 * 5000, dtype=np.float32).reshape(3, 5000) * 2  # a row is longer than a piece of entries
    array[1] = 0
    np.savez(tmp_path / "x.npz", **csr(array, splits=splits))
    assert np.array_equal(np.concatenate([rows for _, rows in FeatureFile(tmp_path / "x.npz").blocks(2)]), array)


SPARSE = csr(np.eye(3, dtype=np.float32))
ARCHIVES = {
    "several arrays": ({"a": np.eye(3), "b": np.eye(3)}, "which array\\? the archive has a, b: name one as x.npz:KEY"),
    "several matrices": (csr(np.eye(3), "a_") | csr(np.eye(3), "b_"), "which matrix\\? the archive has a_, b_: name one as"),
    "a missing part": ({k: v for k, v in SPARSE.items() if k != "shape"}, "which array\\?"),
    "shape of three": (SPARSE | {"shape": np.array([3, 3, 3])}, r"x\.npz:shape: an array of int64, shape \(3,\)"),
    "more rows": (SPARSE | {"shape": np.array([4, 3])}, r"x\.npz:indptr: 4 entries for shape \(4, 3\), 5 are needed"),
    "fewer data": (SPARSE | {"data": np.ones(2)}, r"x\.npz:indices: 3 entries, .*x\.npz:data has 2"),
    "texts": (SPARSE | {"data": np.full(3, "a")}, r"x\.npz:data: an array of <U1"),
    "float indices": (SPARSE | {"indices": np.ones(3)}, r"x\.npz:indices: an array of float64"),
    "starts late": (SPARSE | {"indptr": np.array([1, 1, 2, 3])}, r"x\.npz:indptr: begins with 1"),
    "falls": (SPARSE | {"indptr": np.array([0, 2, 1, 3])}, r"x\.npz:indptr: entry 2 is 1: they must rise"),
    "beyond the end": (SPARSE | {"indptr": np.array([0, 1, 9, 9])}, r"x\.npz:indptr: entry 2 is 9"),
    "ends early": (SPARSE | {"indptr": np.array([0, 1, 2, 2])}, r"x\.npz:indptr: ends with 2, there are 3"),
    "column too large": (SPARSE | {"indices": np.array([0, 3, 1])}, r"x\.npz:indices: row 1: column 3 of 3"),
    "column below 0": (SPARSE | {"indices": np.array([0, 1, -1])}, r"x\.npz:indices: row 2: column -1"),
    "not a number": (SPARSE | {"data": np.array([1, np.nan, 1])}, r"row 1, column 1: nan: every feature must be a finite"),
    "by column": ({"x": np.ones((4, 3)).T}, r"x\.npz:x: stored column after column"),
}


def refused(folder, file, message):
    np.save(folder / "e.npy", [[0, 1], [1, 2]])
    before = sorted(folder.iterdir())
    with pytest.raises(UserError, match=message) as raised:
        make(folder / "d", folder / "e.npy", features=folder / file)
    assert "\n" not in str(raised.value)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(("arrays", "message"), ARCHIVES.values(), ids=list(ARCHIVES))
def test_wrong_archives(tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    refused(tmp_path, "x.npz", message)


def test_keys_that_are_not_there(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.eye(3))
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    refused(tmp_path, "x.npz:y", r"x\.npz:y: which array\? the archive has x: name one as x\.npz:KEY")
    refused(tmp_path, "a.npz:x", r"a\.npz:x: not an \.npz archive \(it looks like npy\): leave out :x")


def test_every_changed_byte_of_an_archive_is_noticed(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", x=np.random.default_rng(0).standard_normal((50, 3)))
    data = (tmp_path / "x.npz").read_bytes()
    for place in (100, len(data) // 2):
        (tmp_path / "x.npz").write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        refused(tmp_path, "x.npz", r"x\.npz.*: (damaged or cut short|not a readable|row )")
    (tmp_path / "x.npz").write_bytes(data[:-30])
    refused(tmp_path, "x.npz", r"x\.npz: damaged or cut short")


TABLES = {
    "text": (pa.table({"a": [1.0, 2, 3], "name": ["x", "y", "z"]}), "column 'name' is of type string: write columns of numbers"),
    "null": (pa.table({"a": [1.0, 2, None]}), "row 2, column 'a': null"),
    "two lists": (pa.table({"a": [[1.0]] * 3, "b": [[1.0]] * 3}), "column 'a' is of type list"),
    "lists of lists": (pa.table({"a": [[[1.0]]] * 3}), "column 'a' is of type list"),
    "lengths": (pa.table({"a": [[1.0, 2], [1, 2], [1]]}), "row 2: 1 numbers, row 0 has 2"),
    "no list": (pa.table({"a": [[1.0, 2], None, [1, 2]]}), "row 1: 0 numbers, row 0 has 2"),
    "null in a list": (pa.table({"a": [[1.0, 2], [1, 2], [None, 1]]}), "row 2: null in its list"),
    "empty list": (pa.table({"a": pa.array([[], [], []], pa.list_(pa.float32()))}), "row 0: a list without numbers"),
    "no rows": (pa.table({"a": pa.array([], pa.float32())}), "0 rows, 1 columns"),
}


@pytest.mark.parametrize(("table", "message"), TABLES.values(), ids=list(TABLES))
def test_wrong_tables(tmp_path, table, message):
    pq.write_table(table, tmp_path / "x.parquet")
    refused(tmp_path, "x.parquet", rf"x\.parquet: {message}")


def test_folders_that_are_no_array(tmp_path):
    (tmp_path / "x").mkdir()
    refused(tmp_path, "x", "x: a folder, and no Zarr array: name the folder of a two-dimensional Zarr array")
    zarr.create_group(tmp_path / "group")
    refused(tmp_path, "group", "group: a folder, and no Zarr array")
    zarr.create_array(tmp_path / "line", data=np.arange(3.0))
    refused(tmp_path, "line", r"line: an array of float64, shape \(3,\)")
    array = zarr.create_array(tmp_path / "cut", data=np.random.default_rng(0).random((30, 3)), chunks=(10, 3))
    assert array.shape == (30, 3)
    (tmp_path / "cut/c/1/0").write_bytes(b"junk")
    refused(tmp_path, "cut", "cut: damaged or cut short")
