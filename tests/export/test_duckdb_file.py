"""A DuckDB database of more nodes than an index of their ids has memory for is whole, and has no index."""

import logging
from contextlib import closing

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from marius_lite.export import duckdb_file

ROWS, BLOCK = 400_000, 100_000


@pytest.mark.parametrize(("memory", "indexes"), [("8MB", 0), ("256MB", 1)])
def test_an_index_that_does_not_fit_is_left_out(memory, indexes, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(duckdb_file, "MOST_MEMORY", memory)
    vectors = np.zeros((BLOCK, 1), np.float32)
    names = ([f"http://example.org/resource/{n}" for n in range(at, at + BLOCK)] for at in range(0, ROWS, BLOCK))
    with caplog.at_level(logging.WARNING):
        duckdb_file.write_duckdb(tmp_path, "nodes", ((pa.array(each), {"vector": vectors}) for each in names), ROWS, {})
    assert ("no index of raw_id in nodes" in caplog.text) == (indexes == 0)
    with closing(duckdb.connect(str(tmp_path / "vectors.duckdb"), read_only=True)) as connection:
        assert connection.sql("SELECT count(DISTINCT raw_id) FROM nodes").fetchall() == [(ROWS,)]
        assert connection.sql("SELECT count(*) FROM duckdb_indexes()").fetchall() == [(indexes,)]
