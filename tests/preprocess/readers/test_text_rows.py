"""Features in text give the rows of the same array, with and without titles and ids, and say what is wrong with a line."""

import gzip

import numpy as np
import pytest

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.text_rows import DelimitedRows

X = np.array([[1.5, -2, 3e4], [0.25, 0, 7], [1, 2, 3], [4, 5, 6]], np.float32)
IDS = ["a 1", "b", '"c"', "d"]


def written(delimiter=",", ids=IDS, titles="id,x,y,z", end="\n"):
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in ids] if ids else [""] * len(X)
    lines = [delimiter.join([*([name] if ids else []), *map(str, row.tolist())]) for name, row in zip(quoted, X)]
    titles = [titles.replace(",", delimiter)] if titles else []
    return end.join([*titles, *lines, "", ""])


def read(path, rows=3):
    opened = DelimitedRows(path)
    blocks = list(opened.blocks(rows))
    assert [first for first, _ in blocks] == list(range(0, opened.rows, rows))
    found = None if opened.ids is None else [name for part in opened.ids.read("str", 1 << 20) for name in part.to_pylist()]
    return np.concatenate([block for _, block in blocks]), found


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " "])
@pytest.mark.parametrize("titles", ["id,x,y,z", "who,x,y,z", None])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_with_ids(tmp_path, delimiter, titles, end):
    (tmp_path / "x.csv").write_bytes(written(delimiter, titles=titles, end=end).encode("utf-8-sig" if end == "\r\n" else "utf-8"))
    found, ids = read(tmp_path / "x.csv")
    np.testing.assert_array_equal(found, X)
    assert ids == IDS


@pytest.mark.parametrize("titles", ["x,y,z", None])
def test_a_table_without_ids(tmp_path, titles, caplog):
    caplog.set_level("INFO", "marius_lite")
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(written(ids=None, titles=titles).encode()))
    found, ids = read(tmp_path / "x.csv.gz")
    np.testing.assert_array_equal(found, X)
    assert ids is None
    assert f"{'with' if titles else 'without'} a header, 4 rows of 3 numbers, row i for the integer id i" in caplog.text


def test_integer_ids(tmp_path):
    (tmp_path / "x.csv").write_text("1.5,2.5,id\n1,2, 7\n3,4,0\n")
    ids = DelimitedRows(tmp_path / "x.csv").ids
    assert [name for part in ids.read("int", 1 << 20) for name in part.to_pylist()] == [7, 0]
    (tmp_path / "x.csv").write_text("id,x\n7,1\nb,2\n")
    with pytest.raises(UserError, match="row 1: 'b' is no integer"):
        list(DelimitedRows(tmp_path / "x.csv").ids.read("int", 1 << 20))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "empty text"),
        (b"id,x\n", "titles and no rows"),
        (b"id,x,x\na,1,2\n", "no two titles are alike"),
        (b"id,x,y\na,1,2\nb,,4\n", "row 1, column 'x': empty"),
        (b"id,x,y\na,1,2\nb,nan,4\n", "row 1, column 'x': empty, or said to be missing"),
        (b"id,x,y\na,1,2\nb,3\n", "Expected 3 columns, got 2"),
        (b"id,x,y\na,1,2\nb,red,4\n", "invalid value 'red'"),
        ("id,x\na,1\nü,2\n".encode("latin-1"), "not UTF-8"),
        ("id,x\na,1\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_is_no_table_of_numbers_is_named(tmp_path, text, message):
    (tmp_path / "x.csv").write_bytes(text)
    with pytest.raises(UserError, match=message):
        read(tmp_path / "x.csv")


def test_a_csv_file_makes_the_dataset_of_the_array(cli, tmp_path):
    (tmp_path / "edges.csv").write_text("src,dst\na 1,b\nb,d\nd,a 1\n" + '"""c""",b\n')
    (tmp_path / "x.csv").write_text(written())
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "ids.txt").write_text("\n".join(IDS))
    fingerprints = []
    for name, more in (("text", [tmp_path / "x.csv"]), ("array", [tmp_path / "x.npy", "--node-ids", tmp_path / "ids.txt"])):
        out = tmp_path / name
        assert cli("preprocess", tmp_path / "edges.csv", "--output", out, "--features", *more) == 0
        fingerprints.append([file.read_bytes() for file in sorted((out / "tables").rglob("*")) if file.is_file()])
    assert fingerprints[0] == fingerprints[1]
