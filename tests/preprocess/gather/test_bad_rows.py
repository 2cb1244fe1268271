"""The list of bad rows: complete, in order, of bounded size in memory."""

import pyarrow.parquet as pq

from marius_lite.preprocess.gather.bad_rows import ROWS_AT_ONCE, SCHEMA, BadRows, warning
from marius_lite.preprocess.readers.raw import BadRow


def test_rows_are_written_as_they_come(tmp_path):
    rows = [BadRow("f", i or None, f"reason {i % 3}", "é" * (i % 5), "row") for i in range(3 * ROWS_AT_ONCE + 10)]
    writer = BadRows(tmp_path / "bad.parquet")
    for at in range(0, len(rows), 1000):
        writer.append(rows[at : at + 1000])
        assert len(writer._waiting) < ROWS_AT_ONCE
    writer.close()
    table = pq.read_table(tmp_path / "bad.parquet")
    assert table.schema.equals(SCHEMA)
    assert [tuple(row.values()) for row in table.to_pylist()] == [(row.file, row.line, row.reason, row.content) for row in rows]


def test_there_is_no_file_without_rows(tmp_path):
    writer = BadRows(tmp_path / "bad.parquet")
    writer.append([])
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_places():
    assert str(BadRow("f", 3, "empty", "a,")) == "f:3: empty: 'a,'"
    assert str(BadRow("f", 3, "null", unit="row")) == "f: row 3: null"
    assert str(BadRow("f", None, "2 edges where its header says 3")) == "f: 2 edges where its header says 3"


def test_a_warning_begins_above_one_percent():
    assert warning(0, 0) is None
    assert warning(10, 1000) is None
    assert warning(11, 1000) == "11 of 1,000 rows (1.1 %) are bad and were skipped: see bad_rows.parquet"
