"""Rows that are held by their numbers that are not 0 have the bits of the stored ones, in less memory; others are refused."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite import _native
from marius_lite.errors import RunError
from marius_lite.graph.features import Features
from marius_lite.graph.manifest import FeatureShape
from marius_lite.graph.partitioning import Partitioning
from marius_lite.rows.batch import PreparedBatch
from marius_lite.rows.sparse import SparseFeatures, held_sparse
from marius_lite.storage.table import RowTable
from marius_lite.types import NodeBatch

NODES, WIDTH = 2500, 150


def bits(values):
    return values.view(np.uint32)


@given(
    st.integers(0, 3000), st.integers(1, 40), st.sampled_from(["float32", "float16", "bfloat16", "int8"]), st.sampled_from([1, 3])
)
@settings(deadline=None, max_examples=40)
def test_rows_have_the_bits_of_gather(rows, width, kind, threads):
    rng = np.random.default_rng(rows)
    dtype = np.dtype({"float32": np.float32, "int8": np.int8}.get(kind, np.uint16))
    stored = rng.integers(0, 256, (rows, (width + 3) * dtype.itemsize), np.uint8).view(dtype)
    stored[rng.random(stored.shape) < 0.8] = 0
    how = {"float32": {}, "int8": {"scales": rng.random(width + 3).astype(np.float32)}}.get(
        kind, {"bfloat16": kind == "bfloat16"}
    )
    sparse = _native.SparseRows(width)
    for part in np.array_split(stored, 3):
        sparse.add(part, **how)
    asked = rng.integers(0, rows, 700) if rows else np.empty(0, np.int64)
    found, expected = (np.full((len(asked), width), 7, np.float32) for _ in range(2))
    sparse.gather(asked, found, threads)
    _native.gather(stored, asked, expected, **how)
    np.testing.assert_array_equal(bits(found), bits(expected))
    assert sparse.rows == rows
    assert sparse.bytes >= 4 * rows + 8 * (np.count_nonzero(stored[:, :width]) if kind != "int8" else 0)


def test_a_number_is_kept_by_its_bits():
    table = np.array([[0.0, -0.0, np.nan, np.inf, 1e-45]], np.float32)
    sparse, out = _native.SparseRows(5), np.ones((1, 5), np.float32)
    sparse.add(table)
    sparse.gather(np.array([0]), out)
    np.testing.assert_array_equal(bits(out), bits(table))


def test_what_cannot_be_is_refused():
    sparse = _native.SparseRows(4)
    sparse.add(np.ones((3, 4), np.float32))
    for row in (-1, 3):
        with pytest.raises(ValueError, match=rf"row {row} at position 1 is outside the table of 3 rows"):
            sparse.gather(np.array([0, row]), np.zeros((2, 4), np.float32))
    with pytest.raises(ValueError, match="another shape"):
        sparse.gather(np.array([0]), np.zeros((1, 5), np.float32))
    with pytest.raises(ValueError, match="rows of 3 columns, expected at least 4"):
        sparse.add(np.ones((3, 3), np.float32))
    with pytest.raises(ValueError, match="fewer scales"):
        sparse.add(np.ones((3, 4), np.int8), scales=np.ones(3, np.float32))
    with pytest.raises(ValueError, match="width"):
        _native.SparseRows(0)


def features_of(folder, values):
    """A table of float16 in four files, the last of which is not full."""
    table = RowTable.create(folder, NODES, 152, 700, dtype=np.float16)
    for k in range(table.partitions):
        with table.writing(k) as write:
            rows = np.zeros((table.size(k), 152), np.float16)
            rows[:, :WIDTH] = values[k * 700 :][:700]
            write(rows)
    sums = {k: _native.crc32c(np.fromfile(table.chunk_path(k), np.uint8), 0) for k in range(table.partitions)}
    return Features(table.expecting(sums), FeatureShape(width=WIDTH, dtype="float16"))


def few(share, rng):
    values = rng.normal(size=(NODES, WIDTH)).astype(np.float16)
    values[rng.random((NODES, WIDTH)) >= share] = 0
    return values


@pytest.mark.parametrize(("ring", "share"), [(0, 0.02), (2, 0)])
def test_a_batch_has_the_rows_of_its_nodes(tmp_path, monkeypatch, ring, share):
    monkeypatch.setattr("marius_lite.rows.sparse.BLOCK_BYTES", 1 << 16)
    values = few(share, np.random.default_rng(1))
    stored = features_of(tmp_path / "table", values)
    held = held_sparse(stored, np.inf)
    assert held.rows == NODES
    assert held.bytes < 2 * NODES * WIDTH / 4
    rows = SparseFeatures(stored, Partitioning(NODES, 4), held, ring, 1)
    learned = []

    def learn(prepared, arrived):
        learned.append(arrived.values().numpy().copy())
        return torch.tensor(3.0), []

    stages = rows.pipeline(lambda batch: PreparedBatch(batch, None, rows.each_table(batch.nodes, batch.nodes)), learn)
    for index, nodes in enumerate(([2499, 0, 700, 699], [5], [])):
        prepared = stages.sample(NodeBatch(0, 0, index, np.array(nodes, np.int64)))
        assert stages.learn(stages.gather(prepared)) == (3.0, None)
        np.testing.assert_array_equal(learned[-1], values[np.array(nodes, np.int64)].astype(np.float32))
    assert rows.counters()["bytes_read"] == 4 * 700 * 304
    assert not rows.rated()
    rows.close()


def test_only_what_is_sparse_and_fits_is_held_so(tmp_path, monkeypatch):
    monkeypatch.setattr("marius_lite.rows.sparse.BLOCK_BYTES", 1 << 16)
    rng = np.random.default_rng(2)
    stored = features_of(tmp_path / "few", few(0.02, rng))
    size = held_sparse(stored, np.inf).bytes
    assert held_sparse(stored, 0.9 * size) is None
    assert held_sparse(stored, 1.1 * size) is not None
    assert held_sparse(stored, -1) is None
    many = features_of(tmp_path / "many", few(0.1, rng))
    read = []
    monkeypatch.setattr(RowTable, "read_block", lambda *asked, of=RowTable.read_block: read.append(asked) or of(*asked))
    assert held_sparse(many, np.inf) is None
    assert len(read) == 1  # the first rows tell


def test_a_changed_file_is_told(tmp_path):
    stored = features_of(tmp_path / "table", few(0.02, np.random.default_rng(3)))
    path = stored.table.chunk_path(2)
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match="does not match its checksum"):
        held_sparse(stored, np.inf)
