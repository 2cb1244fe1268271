"""Every bad input is one line that says what, where and what to do; nothing is left behind."""

import bz2
import gzip
import json
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import decoded, make

from marius_lite.errors import UserError

ROWS = b"a\tr\tb\nb\tr\tc\n"
CASES = {
    # content, options, what the message must say
    "empty file": (b"", {}, r"e\.tsv: no edges at all"),
    "comments only": (b"# nothing\n#\n", {}, "no edges at all"),
    "header only": (b"src\tdst\n", {}, "no edges at all"),
    "too few fields": (ROWS + b"c\tr\n", {}, r"e\.tsv:3: 2 columns where 3 were expected: 'c\\tr'"),
    "too many fields": (b"# first\n" + ROWS + b"\nc\tr\td\te\n", {}, r"e\.tsv:5: 4 columns where 3"),
    "bad row below a header": (b"# x\n\nsrc\trel\tdst\n# y\na\tr\tb\nb\n", {}, r"e\.tsv:6: 1 columns where 3"),
    "one column": (b"a\nb\n", {}, "at least two columns are needed"),
    "wrong delimiter": (ROWS, {"delimiter": "|"}, r"no delimiter '\|'"),
    "four columns": (b"a\tb\tc\td\n", {}, r"4 columns \(a, b, c, d\): say which they are with --columns"),
    "not UTF-8": (ROWS + b"c\xff\tr\ta\n", {}, r"e\.tsv:3: column 1 \(src\): not UTF-8: 'c\\xff\\tr\\ta': mend"),
    "UTF-16": ("a\tb\n".encode("utf-16"), {}, "UTF-16"),
    "empty field": (ROWS + b"\tr\tc\n", {}, r"e\.tsv:3: column 1 \(src\): empty"),
    "empty relation": (ROWS + b"c\t\tc\n", {}, r"e\.tsv:3: column 2 \(rel\): empty"),
    "carriage return": (ROWS + b"c\rd\tr\ta\n", {}, r"e\.tsv:3: a carriage return"),
    "negative id": (b"1\t2\n3\t-4\n", {"ids": "int"}, r"e\.tsv:2: column 2 \(dst\): negative id.*--ids str"),
    "negative id, auto": (b"1\t2\n3\t-4\n", {}, r"e\.tsv:2: column 2 \(dst\): negative id.*--ids str"),
    "text with ids int": (b"1\t2\n3\tx\n", {"ids": "int"}, r"e\.tsv:2: column 2 \(dst\): not an integer id: '3\\tx'"),
    "id too large": (b"1\t2\n3\t9223372036854775808\n", {}, r"e\.tsv:2: .*id above 2\^63 - 1"),
    "id of thousands of digits": (b"1\t2\n3\t" + b"9" * 5000 + b"\n", {"ids": "int"}, r"e\.tsv:2: .*id above 2\^63 - 1: '3"),
    "negative id of thousands of digits": (b"1\t2\n-" + b"9" * 5000 + b"\t3\n", {"ids": "int"}, r"e\.tsv:2: .*negative id"),
    "late text": (b"1\t2\n" * 300_000 + b"x\t2\n", {}, r"e\.tsv:300001: .*--ids str.*looked like integers"),
    "unclosed quote": (b'a,b\n"c,d\n', {}, r"e\.tsv:2: a quote does not close"),
    "missing name": (b"head,tail\na,b\n", {"columns": "head,end"}, r"no column 'end'"),
    "too few names": (ROWS, {"columns": "src,dst"}, "the file has 3 columns, --columns .* names 2"),
    "JSON lines": (b'{"source": "a", "target": "b"}\n', {}, "JSON, which is not read: write columns"),
    "JSON": (b' [\n {"source": "a", "target": "b"}]\n', {}, "JSON, which is not read"),
    "SQLite": (b"SQLite format 3\0\x10\0", {}, "a SQLite database: give --database sqlite:///"),
    "DuckDB": (bytes(8) + b"DUCK" + bytes(9), {}, "a DuckDB database: give --database duckdb:///"),
    "tar": (b"\0" * 257 + b"ustar" + b"\0" * 300, {}, "a tar archive"),
    "zip": (b"PK\x03\x04" + b"\0" * 30, {}, "damaged or cut short"),
    "cut gzip": (gzip.compress(ROWS * 1000)[:-20], {}, r"e\.tsv: damaged or cut short"),
    "cut bz2": (bz2.compress(ROWS * 1000)[:-20], {}, r"e\.tsv: damaged or cut short"),
    "cut xz": (lzma.compress(ROWS * 1000)[:-20], {}, r"e\.tsv: damaged or cut short"),
    "broken gzip": (gzip.compress(ROWS)[:12] + b"junkjunkjunk", {}, "damaged or cut short"),
    "broken parquet": (b"PAR1 junk junk PAR1", {}, r"e\.tsv: damaged or cut short"),
    "broken npy": (b"\x93NUMPY junk junk", {}, "not a readable .npy"),
    "not parquet": (ROWS, {"format": "parquet"}, "not a parquet file"),
    "endless line": (b"a" * (20 << 20), {}, r"no tab|no end of line"),
}


@pytest.mark.parametrize(("content", "options", "message"), CASES.values(), ids=list(CASES))
def test_bad_file(tmp_path, content, options, message):
    (tmp_path / "e.tsv").write_bytes(content)
    with pytest.raises(UserError, match=message) as raised:
        make(tmp_path / "d", tmp_path / "e.tsv", **options)
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["e.tsv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "0.9,0.2,0.1"}, "sum to 1.2"),
        ({"split": "0.9,0.1"}, "three fractions"),
        ({"split": "0,0.5,0.5"}, "train must be above 0"),
        ({"split": "0.9,nan,0.1"}, "no fraction"),
        ({"columns": "src"}, "2 or 3 are needed"),
        ({"columns": "src,src"}, "stands twice"),
        ({"columns": "src,rel"}, "src and dst are both needed"),
        ({"columns": "src,tail"}, "mixes roles"),
        ({"columns": ""}, "2 or 3 are needed"),
        ({"comment": "\udcc0"}, "--comment .*: is not UTF-8"),
        ({"edge_weight": "w\udcff"}, "--edge-weight .*: is not UTF-8"),
        ({"format": "csvv"}, "unknown: use one of auto, text, parquet, arrow, npy, gr, metis, mtx, nt, marius, torch"),
        ({"ids": "uuid"}, "unknown"),
        ({"header": "maybe"}, "unknown"),
        ({"on_bad_row": "cry"}, "--on-bad-row cry: unknown"),
        ({"delimiter": "ab"}, "one ASCII character"),
        ({"partitions": "0"}, "from 1 to"),
        ({"partitions": "many"}, "from 1 to"),
        ({"memory": "lots"}, "--memory"),
        ({"memory": "12"}, "at least 1MiB"),
        ({"memory": "1e999"}, "--memory.*1e999.* is not a size"),
        ({"seed": -1}, "0 or more"),
        ({"split": "0.8,0.1,0.1", "valid": ["v.tsv"]}, "not both"),
        ({"valid": ["v.tsv"]}, "v.tsv: no such file"),
        ({"mask_split": 0}, "--mask-split 0: chooses a split of masks, and there are none"),
    ],
)
def test_bad_option(tmp_path, options, message):
    (tmp_path / "e.tsv").write_bytes(ROWS)
    with pytest.raises(UserError, match=message) as raised:
        make(tmp_path / "d", tmp_path / "e.tsv", **options)
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["e.tsv"]


def test_missing_files_folders_and_files_named_twice(tmp_path):
    (tmp_path / "e.tsv").write_bytes(ROWS)
    for edges, message in [("none.tsv", "no such file"), ("*.csv", "no such file"), (".", "is a folder")]:
        with pytest.raises(UserError, match=message):
            make(tmp_path / "d", tmp_path / edges)
    with pytest.raises(UserError, match="named twice"):
        make(tmp_path / "d", [tmp_path / "e.tsv", tmp_path / "*.tsv"])


def test_files_must_agree_on_a_relation_column(tmp_path):
    (tmp_path / "e.tsv").write_bytes(ROWS)
    (tmp_path / "f.tsv").write_bytes(b"a\tb\n")
    with pytest.raises(UserError, match=r"f\.tsv: 2 columns are used, the files before have 3"):
        make(tmp_path / "d", [tmp_path / "e.tsv", tmp_path / "f.tsv"])


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[0, 1], [2, -3]]), r"row 1: dst: negative id"),
        (np.array([[0, 2**63]], np.uint64), r"row 0: dst: id above 2\^63 - 1"),
        (np.array([[0.0, 1.0]]), "an array of float64"),
        (np.array([0, 1]), r"shape \(2,\)"),
        (np.zeros((4, 4), int), r"shape \(4, 4\)"),
        (np.zeros((0, 2), int), "no edges at all"),
    ],
)
def test_bad_array(tmp_path, array, message):
    np.save(tmp_path / "e.npy", array)
    with pytest.raises(UserError, match=message):
        make(tmp_path / "d", tmp_path / "e.npy")


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"src": [1, None], "dst": [1, 2]}, {}, "row 1: src: null"),
        ({"src": [1.5], "dst": [1]}, {}, "of type double"),
        ({"src": ["a", ""], "dst": ["b", "c"]}, {}, "row 1: src: empty"),
        ({"src": ["1", "x"], "dst": ["2", "3"]}, {"ids": "int"}, "row 1: src: not an integer id"),
        ({"a": [1], "b": [1], "c": [1], "d": [1]}, {}, r"4 columns \(a, b, c, d\): say which they are"),
        ({"a": [1], "b": [1]}, {"columns": "a,c"}, "the columns are a, b"),
    ],
)
def test_bad_parquet(tmp_path, table, options, message):
    pq.write_table(pa.table(table), tmp_path / "e.parquet")
    with pytest.raises(UserError, match=message):
        make(tmp_path / "d", tmp_path / "e.parquet", **options)


def test_skipping_counts_rows_and_keeps_the_others(tmp_path):
    bad = [b"c\tr", b"c\xff\tr\td", b"\tr\td", b"c\tr\td\te"]
    (tmp_path / "e.tsv").write_bytes(ROWS + b"\n".join(bad) + b"\n# more\n" + b"c\tr\td\n")
    dataset = make(tmp_path / "d", tmp_path / "e.tsv", on_bad_row="skip")
    assert decoded(dataset) == {("a", "r", "b"): 1, ("b", "r", "c"): 1, ("c", "r", "d"): 1}
    skipped = json.loads((tmp_path / "d/report.json").read_text())["skipped_rows"]
    assert skipped["count"] == 4
    assert sum(skipped["reasons"].values()) == 4
    assert skipped["examples"][0].endswith("e.tsv:3: 2 columns where 3 were expected: 'c\\tr'")


def test_skipping_rows_of_arrays(tmp_path):
    np.save(tmp_path / "e.npy", np.array([[0, 0, 1], [2, 5, -3], [1, 5, 2]]))
    dataset = make(tmp_path / "d", tmp_path / "e.npy", on_bad_row="skip")
    assert decoded(dataset) == {(0, 0, 1): 1, (1, 5, 2): 1}


def test_numbers_of_thousands_of_digits_are_bad_rows_too(tmp_path):
    digits = "9" * 5000
    (tmp_path / "e.tsv").write_text(f"src\tdst\tt\n1\t2\t3\n{digits}\t2\t3\n1\t2\t-{digits}\n{'0' * 5000}7\t2\t3\n")
    dataset = make(tmp_path / "d", tmp_path / "e.tsv", ids="int", timestamp="t", on_bad_row="skip")
    assert decoded(dataset) == {(1, "", 2): 1, (7, "", 2): 1}
    assert json.loads((tmp_path / "d/report.json").read_text())["skipped_rows"]["reasons"] == {
        "column 1 (src): id above 2^63 - 1": 1,
        "column 3 (time): no whole number of 64 bits": 1,
    }


@pytest.mark.parametrize("between", [" ", "  ", "\t", ","])
def test_bytes_of_a_column_that_is_not_used(tmp_path, between):
    rows = [["a", "b", "caf\xe9"], ["b", "c", "x"], ["c", ""]]
    (tmp_path / "e.txt").write_bytes("".join(between.join(row) + "\n" for row in rows).encode("latin-1"))
    dataset = make(tmp_path / "d", tmp_path / "e.txt", columns="src,dst,_", on_bad_row="skip")
    assert decoded(dataset) == {("a", "", "b"): 1, ("b", "", "c"): 1}


def test_columns_of_the_same_name(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["src", "dst", "dst"])
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(UserError, match=r"e\.parquet: 2 columns are called 'dst'"):
        make(tmp_path / "d", tmp_path / "e.parquet")


@pytest.mark.parametrize("name", ["d\udcff", "d\n", "d\0", "d\x1b[31m"])
def test_names_that_nobody_can_write(tmp_path, name):
    (tmp_path / "e.tsv").write_bytes(ROWS)
    with pytest.raises(UserError, match=r"--output .*: choose another"):
        make(tmp_path / name, tmp_path / "e.tsv")
    if "\0" not in name:
        (tmp_path / name).write_bytes(ROWS)
    if "\udcff" in name or "\0" in name:
        with pytest.raises(UserError, match=r"rename it|no such file"):
            make(tmp_path / "d", tmp_path / name)
