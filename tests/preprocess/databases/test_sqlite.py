"""A column of SQLite has the type of its first value; a value of another type is an error that says what to write."""

import sqlite3

import pytest

from marius_lite.errors import MariusError, UserError
from marius_lite.preprocess.databases.snapshot import address_of, batches_of, open_snapshot


def read(tmp_path, values):
    path = tmp_path / "v.db"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (v)")
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    connection.close()
    address = address_of(f"sqlite:///{path}")
    with open_snapshot(address, 1 << 17) as snapshot:
        return batches_of(snapshot, address, "SELECT v FROM t;").read_all()["v"]


@pytest.mark.parametrize("values", [[1, 2**63 - 1, None], [0.5, 1, None], ["a", None, "ü"], [None, None], [None] * 3000 + [0.5]])
def test_values_come_as_they_are(tmp_path, values):
    assert read(tmp_path, values).to_pylist() == values


@pytest.mark.parametrize("values", [[1] * 2000 + ["a"], ["a"] * 2000 + [1], [1] * 2000 + [0.5]])
def test_a_value_of_another_type_is_named(tmp_path, values):
    with pytest.raises(MariusError, match=rf"row 2000, column 'v': {values[-1]!r} among .*: .* CAST\(v AS TEXT\)$"):
        read(tmp_path, values)


def test_bytes_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"column 1 of the query holds bytes: write hex\(...\)"):
        read(tmp_path, [b"\0"])
