"""A table comes back from each kind of file; a file is whole or not there, whatever stops the writing."""

import csv
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.errors import RunError, UserError
from marius_lite.predict.table_file import write_tables

TEXTS = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=5)
ENDINGS = [".tsv", ".csv", ".parquet"]
TWO = pa.table({"a": ["x", None], "b": [0.1, 1e-9], "c": [1, 2]})


@settings(deadline=None, max_examples=40)
@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_texts_come_back(tmp_path_factory, blocks):
    folder = tmp_path_factory.mktemp("texts")
    tables = [
        pa.table({"text": pa.array(block, pa.string()), "place": pa.array(range(len(block)), pa.int64())}) for block in blocks
    ]
    cells = [cell for block in blocks for cell in block]
    for ending in ENDINGS:
        assert write_tables(tables, folder / f"a{ending}") == len(cells)
    assert pq.read_table(folder / "a.parquet")["text"].to_pylist() == cells
    for name, delimiter in (("a.tsv", "\t"), ("a.csv", ",")):
        with open(folder / name, newline="", encoding="utf-8") as file:
            title, *rows = csv.reader(file, delimiter=delimiter)
        assert title == ["text", "place"]
        assert [row[0] for row in rows] == ["?" if cell is None else cell for cell in cells]


def test_numbers_and_lists_as_text(tmp_path):
    table = pa.table({"a": ["x", None], "b": pa.array([0.1, 1e-9], pa.float32()), "c": [["u", "v"], []]})
    write_tables([table, table], tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text() == "a\tb\tc\n" + 2 * "x\t0.1\tu,v\n?\t1e-9\t\n"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_mistake_leaves_the_file_that_was_there(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    path.write_text("before")

    def tables():
        yield TWO
        raise RunError("stop")

    with pytest.raises(RunError, match="stop"):
        write_tables(tables(), path)
    with pytest.raises(UserError, match="nothing to write"):
        write_tables([], path)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {path.name: "before"}


@pytest.mark.parametrize(("stop", "ending"), [("FAIL", ".csv"), ("FAIL", ".parquet"), ("KILL", ".tsv")])
def test_a_full_disk_and_a_kill_leave_no_half_file(faults, tmp_path, ending, stop):
    path = tmp_path / f"a{ending}"
    code = (
        "import pyarrow as pa; from pathlib import Path; from marius_lite.predict.table_file import write_tables\n"
        f"table = pa.table({{'a': [str(i * i) for i in range(9000)]}})\nwrite_tables([table] * 3, Path({str(path)!r}))"
    )
    done = faults.run(code, **{stop: f"write:/.{path.name}.:2{'+:ENOSPC' if stop == 'FAIL' else ''}"})
    assert not path.exists()
    left = [each.name for each in tmp_path.iterdir()]
    if stop == "FAIL":
        assert f"DiskFull: {path}: the disk is full" in done.stderr
        assert left == []
    else:
        assert done.returncode == -9
        assert [Path(name).suffix for name in left] == [".tmp"]
        write_tables([TWO], path)
        assert os.listdir(tmp_path) == [path.name]


def test_names(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name, words in (
        ("a.txt", "use one of .tsv, .csv, .parquet"),
        ("folder.csv", "is a folder"),
        ("no/a.tsv", "there is no folder"),
    ):
        with pytest.raises(UserError, match=f"--output .*{Path(name).name}: .*{words}"):
            write_tables([TWO], tmp_path / name)
