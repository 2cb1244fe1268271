"""Files as people have them: what is a row, what is a bad row, what is a damaged file, for both --on-bad-row values."""

import gzip
import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import decoded, make

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.lines import LineBlock
from marius_lite.preprocess.readers.shape import LineShape, SpacedShape
from marius_lite.preprocess.readers.text import BlockParser
from marius_lite.printable import printable

LONG = "x" * (60 << 10)
GOOD = [
    "a,r,b\n",
    "a,r,b\n",
    "b,r,b\n",
    "\n",
    "   \n",
    "# no row\n",
    '"c,1",r,"say ""c"""\r\n',
    " d ,r,e\n",
    "é,r,ß\n",
    f"{LONG},r,a\n",
    'mid"quote,r,a\n',
]
EDGES = Counter(
    {
        ("a", "r", "b"): 2,
        ("b", "r", "b"): 1,
        ("c,1", "r", 'say "c"'): 1,
        (" d ", "r", "e"): 1,
        ("é", "r", "ß"): 1,
        (LONG, "r", "a"): 1,
        ('mid"quote', "r", "a"): 1,
    }
)
SPACED = "the source ' d ' begins or ends with a space: with and without it are two nodes; remove the spaces"
BAD = {  # what stands in the file: its reason
    b"a,r\n": "2 columns where 3 were expected",
    b"a,r,b,c\n": "4 columns where 3 were expected",
    b"\xff\xfe,r,b\n": "column 1 (src): not UTF-8",
    b"a,,b\n": "column 2 (rel): empty",
    b"a,r,\r\n": "column 3 (dst): empty",
    b'a,r,"b\n': "a quote does not close",
    b'"a"x,r,b\n': "a quote does not close",
    b"a,r,b\rc\n": "a carriage return inside the line",
    f"{LONG}\n".encode(): "1 columns where 3 were expected",
}


def mess():
    """Good lines with a bad one after each, and the lines' numbers; the last line is good and does not end."""
    data, lines = GOOD[0].encode(), []
    for at, text in enumerate(BAD):
        data += text + (GOOD[at + 1].encode() if at + 1 < len(GOOD) - 1 else b"")
        lines.append(2 * at + 2)
    return data + GOOD[-1].encode().removesuffix(b"\n"), lines


@pytest.mark.parametrize("memory", ["1MiB", "4GB"])
def test_skipping_keeps_every_good_row_and_lists_every_bad_one(tmp_path, memory):
    data, lines = mess()
    (tmp_path / "1.csv").write_bytes(data)
    (tmp_path / "2.csv").write_bytes(b"")
    (tmp_path / "3.csv").write_bytes(b"z,r,a")
    dataset = make(tmp_path / "d", [tmp_path / "?.csv"], on_bad_row="skip", memory=memory)
    assert decoded(dataset) == EDGES + Counter({("z", "r", "a"): 1})
    rows = pq.read_table(tmp_path / "d/bad_rows.parquet").to_pylist()
    assert [row["line"] for row in rows] == lines
    assert [row["reason"] for row in rows] == list(BAD.values())
    assert {row["file"] for row in rows} == {str(tmp_path / "1.csv")}
    assert [row["content"] for row in rows] == [text.rstrip(b"\r\n").decode("utf-8", "backslashreplace")[:200] for text in BAD]
    report = json.loads((tmp_path / "d/report.json").read_text())
    assert (report["rows_read"], report["comment_lines"], report["skipped_rows"]["count"]) == (9, 1, len(BAD))
    assert report["skipped_rows"]["reasons"] == Counter(BAD.values())
    assert report["warnings"] == ["9 of 18 rows (50.0 %) are bad and were skipped: see bad_rows.parquet", SPACED]
    assert report["edges"]["train"]["duplicates"] == 1
    assert report["edges"]["train"]["self_loops"] == 1


@pytest.mark.parametrize("bad", range(len(BAD)))
def test_error_names_file_line_and_content(tmp_path, bad):
    text, reason = list(BAD.items())[bad]
    (tmp_path / "e.csv").write_bytes("".join(GOOD).encode() + text + b"a,r,b")
    with pytest.raises(UserError) as raised:
        make(tmp_path / "d", tmp_path / "e.csv")
    content = text.rstrip(b"\r\n").decode("utf-8", "backslashreplace")[:200]
    assert str(raised.value) == (
        f"{tmp_path}/e.csv:{len(GOOD) + 1}: {reason}: '{printable(content)}': mend the line, or leave such lines out "
        "with --on-bad-row skip"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


def test_without_bad_rows_there_is_no_list_and_no_warning(tmp_path):
    (tmp_path / "e.csv").write_text("".join(GOOD))
    assert decoded(make(tmp_path / "d", tmp_path / "e.csv", on_bad_row="skip")) == EDGES
    assert not (tmp_path / "d/bad_rows.parquet").exists()
    assert json.loads((tmp_path / "d/report.json").read_text())["warnings"] == [SPACED]


def test_numbers_may_have_spaces_around_and_one_percent_may_be_bad(tmp_path, caplog):
    rows = "".join(f"{i}, {i + 1} \n" for i in range(99))
    (tmp_path / "e.csv").write_text(rows + "1,x\n")
    dataset = make(tmp_path / "d", tmp_path / "e.csv", ids="int", on_bad_row="skip")
    assert decoded(dataset) == {(i, "", i + 1): 1 for i in range(99)}
    assert not caplog.messages
    (tmp_path / "e.csv").write_text(rows + "1,x\n1,-2\n")
    make(tmp_path / "more", tmp_path / "e.csv", ids="int", on_bad_row="skip")
    assert caplog.messages == ["2 of 101 rows (2.0 %) are bad and were skipped: see bad_rows.parquet"]


def test_loops_and_duplicates_go_where_asked(tmp_path):
    (tmp_path / "e.csv").write_text("".join(GOOD))
    dataset = make(tmp_path / "d", tmp_path / "e.csv", drop_self_loops=True, drop_duplicates=True)
    assert decoded(dataset) == Counter({edge: 1 for edge in EDGES if edge != ("b", "r", "b")})


@pytest.mark.parametrize("on_bad_row", ["error", "skip"])
@pytest.mark.parametrize("cut", [1, 4, 8, 40])
def test_a_damaged_file_is_an_error_even_when_skipping(tmp_path, on_bad_row, cut):
    (tmp_path / "a.tsv").write_text("a\tb\n")
    packed = gzip.compress("".join(f"n{i}\tn{i * i % 9973}\n" for i in range(50_000)).encode())
    for name, data in {"cut": packed[:-cut], "broken": packed[:-cut] + bytes(byte ^ 255 for byte in packed[-cut:])}.items():
        (tmp_path / "b.tsv.gz").write_bytes(data)
        with pytest.raises(UserError, match=r"b\.tsv\.gz: damaged or cut short"):
            make(tmp_path / name, [tmp_path / "a.tsv", tmp_path / "b.tsv.gz"], on_bad_row=on_bad_row)
        assert not (tmp_path / name).exists()


SHAPES = {"comma": (LineShape, ","), "tab": (LineShape, "\t"), "space": (LineShape, " "), "whitespace": (SpacedShape, " ")}
PIECES = [b"1", b"0", b"-", b"a", b" ", b"\t", b",", b'"', b"\r", b"\xff", b"\xc3\xa9", b"0x", b"+", b"."]


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9).map(b"".join), st.sampled_from(["int", "str"]))
def test_a_row_means_the_same_beside_a_bad_one(shape, line, kind):
    of, delimiter = SHAPES[shape]
    line += delimiter.encode() + b"1" if len(line) % 2 else b""
    options = Options.parse(edges=["e"], output="d", on_bad_row="skip")
    parser = BlockParser("f", of(delimiter, False, 3, {"src": 0, "dst": 1, "weight": 2}, kind), kind, options)
    alone, beside = parser.parse(LineBlock(line + b"\n", 1)), parser.parse(LineBlock(line + b"\nbad\n", 1))
    for role in ("src", "dst", "weight"):
        assert getattr(alone, role).to_pylist() == getattr(beside, role).to_pylist()
    assert alone.bad == beside.bad[:-1]
