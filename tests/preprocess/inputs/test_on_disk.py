"""Queries and tables are put on disk first, once; nothing stays when the dataset is there, or the input is wrong."""

import sqlite3
from itertools import count

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import data_files, make

from marius_lite.errors import RunError, UserError
from marius_lite.preprocess import make as module


@pytest.fixture
def database(tmp_path):
    """Nodes 0 to 49 with two features, a class, a type and a set, and a ring of edges of two kinds."""
    path = tmp_path / "graph.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE links (a INTEGER, b INTEGER, kind TEXT, w REAL)")
        connection.executemany(
            "INSERT INTO links VALUES (?, ?, ?, ?)", [(i, (i + 1 + i % 2) % 50, f"k{i % 2}", i / 4) for i in range(50)]
        )
        connection.execute("CREATE TABLE nodes (id INTEGER, x REAL, y REAL, class TEXT, part TEXT)")
        connection.executemany(
            "INSERT INTO nodes VALUES (?, ?, ?, ?, ?)",
            [(i, i / 2, -i, f"c{i % 3}", ("train", "valid", "test")[i % 3]) for i in reversed(range(50))],
        )
    connection.close()
    return path


NODE_QUERIES = {
    "features": "SELECT id, x, y FROM nodes",
    "labels": "SELECT id, class FROM nodes",
    "node_types": "SELECT id, part AS type FROM nodes",
    "train_nodes": "SELECT id FROM nodes WHERE id % 2 = 0",
    "test_nodes": "SELECT id FROM nodes WHERE id % 2 = 1",
}
EDGES = [
    "SELECT a AS src, kind AS rel, b AS dst, w FROM links WHERE kind = 'k0'",
    "SELECT a AS src, kind AS rel, b AS dst, w FROM links WHERE kind = 'k1'",
]


def as_files(database, folder):
    """The same rows in Parquet files."""
    connection = sqlite3.connect(database)
    folder.mkdir()
    numbers = count()

    def file(query):
        found = connection.execute(query)
        names = [column[0] for column in found.description]
        path = folder / f"{next(numbers)}.parquet"
        pq.write_table(pa.table(dict(zip(names, map(list, zip(*found.fetchall()))))), path)
        return str(path)

    made = [file(query) for query in EDGES], {name: file(query) for name, query in NODE_QUERIES.items()}
    connection.close()
    return made


def test_the_dataset_is_that_of_files_of_the_same_rows(database, tmp_path):
    options = {"partitions": 3, "edge_weight": "w"}
    edges, nodes = as_files(database, tmp_path / "files")
    from_files = make(tmp_path / "file", edges, **nodes, **options)
    asked = make(tmp_path / "d", EDGES, database=f"sqlite:///{database}", **NODE_QUERIES, **options)
    assert {k: v for k, v in data_files(asked.path).items() if k.name != "zarr.json"} == {
        k: v for k, v in data_files(from_files.path).items() if k.name != "zarr.json"
    }
    assert asked.manifest.node_split == {"train": 25, "test": 25}
    by_id = dict(zip(asked.raw_ids(0, 50).to_pylist(), [row for k in range(3) for row in asked.features.read(k).tolist()]))
    assert by_id == {i: [i / 2, -i] for i in range(50)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "file", "files", "graph.db"]


def fail(*arguments):
    raise RunError("the disk is full")


def test_an_interrupted_command_asks_again_where_the_file_has_changed(database, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "marius_lite")
    query = "SELECT a, b FROM links"
    with monkeypatch.context() as patch:
        patch.setattr(module, "preprocess", fail)
        with pytest.raises(RunError, match="full"):
            make(tmp_path / "d", query, database=f"sqlite:///{database}")
        assert (tmp_path / ".d.inputs.tmp" / f"edges: {query}").exists()
        caplog.clear()
        with pytest.raises(RunError, match="full"):
            make(tmp_path / "d", query, database=f"sqlite:///{database}")
        assert "going on with the rows that an interrupted run" in caplog.text
        assert "50 rows" not in caplog.text
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM links WHERE a < 10")
    connection.close()
    assert make(tmp_path / "d", query, database=f"sqlite:///{database}").manifest.edges["train"] == 40
    assert "is incomplete or out of date: all is read anew" in caplog.text
    assert "40 rows" in caplog.text


@pytest.mark.parametrize("damage", ["cut", "changed", "removed"])
def test_what_was_changed_since_is_read_again(database, tmp_path, monkeypatch, damage):
    query = "SELECT a, b FROM links"
    with monkeypatch.context() as patch:
        patch.setattr(module, "preprocess", fail)
        with pytest.raises(RunError):
            make(tmp_path / "d", query, database=f"sqlite:///{database}")
    file = tmp_path / ".d.inputs.tmp" / f"edges: {query}"
    data = file.read_bytes()
    file.unlink()
    if damage != "removed":
        file.write_bytes(data[:-9] if damage == "cut" else data[:50] + bytes([data[50] ^ 1]) + data[51:])
    assert make(tmp_path / "d", query, database=f"sqlite:///{database}").manifest.edges["train"] == 50


def test_wrong_input_leaves_nothing(database, tmp_path):
    with pytest.raises(UserError, match=r"^edges: SELECT a, w FROM links: column 'w' \(dst\) is of type double: ids must be"):
        make(tmp_path / "d", "SELECT a, w FROM links", database=f"sqlite:///{database}")
    assert [path.name for path in tmp_path.iterdir()] == ["graph.db"]


def test_passes_go_on_after_an_interruption(database, tmp_path, monkeypatch, caplog):
    """Tables in memory are written again, to the same bytes, and passes that are finished stay finished."""
    caplog.set_level("INFO", "marius_lite")
    table = pa.table({"src": [1, 2, 3], "dst": [2, 3, 1]})
    with monkeypatch.context() as patch:
        patch.setattr("marius_lite.preprocess.build.number_ids", fail)
        with pytest.raises(RunError, match="full"):
            make(tmp_path / "d", [table, "SELECT a, b FROM links"], database=f"sqlite:///{database}")
    make(tmp_path / "d", [table, "SELECT a, b FROM links"], database=f"sqlite:///{database}")
    assert "going on after pass 'read'" in caplog.text


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ("SELECT 1", {}, "SELECT 1: a query, for which database"),
        ("edges.tsv", {"database": "sqlite:///graph.db"}, "there is no query for it"),
        ([(1, 2)], {}, "a list names several inputs"),
        ({"src": [1]}, {}, "edges: a dict: give a file's name"),
    ],
)
def test_what_is_refused(tmp_path, edges, options, message):
    with pytest.raises(UserError, match=message):
        make(tmp_path / "d", edges, **options)
    assert not list(tmp_path.iterdir())
