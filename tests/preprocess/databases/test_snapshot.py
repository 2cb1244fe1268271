"""A result is the same rows whichever database gives it, comes in bounded batches, and is of one moment."""

import sqlite3

import duckdb
import pytest

from marius_lite.errors import RunError, UserError
from marius_lite.preprocess.databases.snapshot import address_of, batches_of, open_snapshot

COUNT = 200_000
BLOCK = 1 << 18


@pytest.fixture(scope="module", params=["sqlite", "duckdb", "postgresql"])
def uri(request, tmp_path_factory):
    """A database with the edges (i, 7 i mod 1000) of i = 1 to 200,000."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql").uri
    path = tmp_path_factory.mktemp("database") / "edges.db"
    if request.param == "sqlite":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE edges (src INTEGER, dst INTEGER)")
            connection.executemany("INSERT INTO edges VALUES (?, ?)", ((i, i * 7 % 1000) for i in range(1, COUNT + 1)))
        connection.close()
    else:
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE edges AS SELECT i AS src, i * 7 % 1000 AS dst FROM range(1, {COUNT + 1}) t(i)")
    return f"{request.param}:///{path}"


def asked(uri, query):
    address = address_of(uri)
    with open_snapshot(address, BLOCK) as snapshot:
        return list(batches_of(snapshot, address, query))


def test_rows_come_in_batches(uri):
    batches = asked(uri, "SELECT src, dst FROM edges ORDER BY src")
    assert max(batch.nbytes for batch in batches) <= 4 * BLOCK
    assert [value for batch in batches for value in batch["src"].to_pylist()] == list(range(1, COUNT + 1))
    assert [value for batch in batches for value in batch["dst"].to_pylist()] == [i * 7 % 1000 for i in range(1, COUNT + 1)]


def test_a_result_without_rows_has_columns(uri):
    address = address_of(uri)
    with open_snapshot(address, BLOCK) as snapshot:
        assert batches_of(snapshot, address, "SELECT src, dst FROM edges WHERE src < 0").read_all().column_names == ["src", "dst"]


def test_a_query_begins_with_with_and_gives_text(uri):
    (batch,) = asked(
        uri, "WITH few AS (SELECT src FROM edges WHERE src < 4) SELECT 'n' || src AS name, 0.5 AS w FROM few ORDER BY 1"
    )
    assert batch["name"].to_pylist() == ["n1", "n2", "n3"]


@pytest.mark.parametrize("query", ["SELECT nothing FROM edges", "SELECT * FROM", "SELECT * FROM elsewhere"])
def test_a_wrong_query_is_an_error_of_one_line(uri, query):
    with pytest.raises(UserError) as raised:
        asked(uri, query)
    said = str(raised.value)
    assert said.startswith(f"{address_of(uri).shown}: {query}: ")
    assert "\n" not in said


@pytest.mark.parametrize("statement", ["DROP TABLE edges", "DELETE FROM edges", "CREATE TABLE more (a INTEGER)"])
def test_nothing_is_written(uri, statement):
    with pytest.raises(UserError):
        asked(uri, statement)
    assert len(asked(uri, "SELECT src FROM edges WHERE src = 1")[0]) == 1


def test_files_that_are_no_databases(tmp_path):
    for kind in ("sqlite", "duckdb"):
        with pytest.raises(UserError, match=f"{kind}:///{tmp_path}/none: no such file"):
            asked(f"{kind}:///{tmp_path}/none", "SELECT 1")
        (tmp_path / "text").write_text("1 2\n" * 1000)
        with pytest.raises(UserError, match=f"^{kind}:///{tmp_path}/text: cannot be opened: "):
            asked(f"{kind}:///{tmp_path}/text", "SELECT 1")


def test_all_queries_see_one_moment(postgresql):
    postgresql.run("CREATE TABLE growing AS SELECT 1 AS a")
    address = address_of(postgresql.uri)
    with open_snapshot(address, BLOCK) as snapshot:
        before = batches_of(snapshot, address, "SELECT a FROM growing").read_all()
        postgresql.run("INSERT INTO growing VALUES (2)")
        assert batches_of(snapshot, address, "SELECT a FROM growing").read_all() == before
    assert len(asked(postgresql.uri, "SELECT a FROM growing")[0]) == 2


def test_a_lost_connection_is_an_error_of_one_line(postgresql):
    address = address_of(postgresql.uri)
    with open_snapshot(address, BLOCK) as snapshot:
        batches = iter(batches_of(snapshot, address, "SELECT i AS src, i AS dst FROM generate_series(1, 20000000) i"))
        next(batches)
        postgresql.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND pid <> pg_backend_pid()"
        )
        with pytest.raises(RunError, match=r"ended after [0-9,]+ rows \(.+\): nothing of it is kept") as raised:
            list(batches)
    assert "\n" not in str(raised.value)


def test_passwords(postgresql, monkeypatch, tmp_path):
    password = postgresql.uri.partition("owner:")[2].partition("@")[0]
    with pytest.raises(UserError, match=r"cannot be opened: .*password authentication failed") as raised:
        asked(postgresql.uri.replace(password, "wr0ng"), "SELECT 1 AS a")
    assert "wr0ng" not in str(raised.value)
    without = postgresql.uri.replace(f":{password}@", "@")
    with pytest.raises(UserError, match="no password supplied"):
        asked(without, "SELECT 1 AS a")
    meant = password.replace("%2F", "/").replace("%40", "@")
    (tmp_path / "pgpass").write_text(f"127.0.0.1:{postgresql.port}:*:owner:{meant}\n")
    (tmp_path / "pgpass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    assert asked(without, "SELECT 1 AS a")[0]["a"].to_pylist() == [1]
    monkeypatch.delenv("PGPASSFILE")
    monkeypatch.setenv("PGPASSWORD", meant)
    assert asked(without, "SELECT 1 AS a")[0]["a"].to_pylist() == [1]
    socket = f"postgresql:///postgres?host={postgresql.folder}&port={postgresql.port}&user=owner"
    assert asked(socket, "SELECT 1 AS a")[0]["a"].to_pylist() == [1]
