"""Text, standard input and Parquet give the same rows; what is no row is told with its place; no more is read than is needed."""

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.predict.query_file import LONGEST_LINE, STDIN, query_rows

TRIPLE = ["src", "rel", "dst"]
CELLS = [["a", "r", "?"], ["?", "r s", "b,c"], ['d"e', "r", "?"], ["é", "r", "?"]]


def cells_of(path, columns=TRIPLE):
    return [cells for _, cells in query_rows(path, columns)]


def given_to_stdin(monkeypatch, data):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    return STDIN


def test_all_kinds_give_the_same_rows(tmp_path, monkeypatch):
    (tmp_path / "q.tsv").write_text("\n".join("\t".join(cells) for cells in CELLS))
    with open(tmp_path / "q.csv", "w", newline="") as file:
        csv.writer(file).writerows(CELLS)
    columns = {name: [None if cell == "?" else cell for cell in cells] for name, cells in zip(TRIPLE, zip(*CELLS))}
    pq.write_table(pa.table(columns), tmp_path / "named.parquet")
    pq.write_table(pa.table({"other": [1] * len(CELLS)} | dict(reversed(columns.items()))), tmp_path / "turned.parquet")
    pq.write_table(pa.table(list(columns.values()), names=["a", "b", "c"]), tmp_path / "placed.parquet", row_group_size=2)
    for name in ("q.tsv", "q.csv", "named.parquet", "turned.parquet", "placed.parquet"):
        assert cells_of(tmp_path / name) == CELLS
    assert cells_of(given_to_stdin(monkeypatch, (tmp_path / "q.csv").read_bytes())) == CELLS


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1), min_size=3, max_size=3), max_size=4
    )
)
def test_what_a_writer_of_csv_quotes_comes_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "q"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    assert cells_of(path) == rows


def test_integers_and_columns_of_nothing_but_what_is_asked(tmp_path):
    table = pa.table({"src": pa.array([3, -4], pa.int32()), "dst": pa.nulls(2)})
    pq.write_table(table, tmp_path / "q.parquet")
    assert list(query_rows(tmp_path / "q.parquet", ["src", "dst"])) == [("row 0", ["3", "?"]), ("row 1", ["-4", "?"])]
    (tmp_path / "ids").write_text("a,b\n\n c\td \n")
    assert list(query_rows(tmp_path / "ids", ["id"])) == [("line 1", ["a,b"]), ("line 3", [" c\td "])]


def test_a_mark_of_byte_order_belongs_to_no_id(tmp_path):
    """Some programs put one before the text of a file; preprocess passes over it too."""
    (tmp_path / "q.csv").write_bytes("\ufeffa,r,?\r\n?,r,\ufeffb\r\n".encode())
    assert cells_of(tmp_path / "q.csv") == [["a", "r", "?"], ["?", "r", "\ufeffb"]]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"a": ["x"]}, r"q.parquet: columns a: give the columns src, rel, dst"),
        ({"src": [1.5], "rel": ["r"], "dst": ["b"]}, r"column 'src' is of type double: ids must be integers or strings"),
    ],
)
def test_other_columns(tmp_path, table, words):
    pq.write_table(pa.table(table), tmp_path / "q.parquet")
    with pytest.raises(UserError, match=words):
        cells_of(tmp_path / "q.parquet")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'a,r,?\n"b,r,?\n', "line 2: found '\"b,r,\\?': a quote does not close"),
        (b"a,r,?\n\n\xff\n", "line 3: cannot be read as text"),
        (b"a,r,?\n" + b"b" * LONGEST_LINE, "line 2: longer than 65,536 bytes"),
    ],
)
def test_a_bad_line_has_its_place(tmp_path, monkeypatch, data, words):
    (tmp_path / "q").write_bytes(data)
    with pytest.raises(UserError, match=f"{tmp_path}/q, {words}"):
        cells_of(tmp_path / "q")
    with pytest.raises(UserError, match=f"standard input, {words}"):
        cells_of(given_to_stdin(monkeypatch, data))


def test_damage_and_a_missing_file(tmp_path):
    (tmp_path / "q.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UserError, match=r"q\.parquet: damaged or cut short"):
        cells_of(tmp_path / "q.parquet")
    with pytest.raises(UserError, match=r"none\.parquet: No such file"):
        cells_of(tmp_path / "none.parquet")
