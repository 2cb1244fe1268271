"""What was probably meant otherwise is said, and what looks like a graph is not."""

import json

import numpy as np
import pytest
from preprocess_tools import make

RNG = np.random.default_rng(0)
ENDS = RNG.integers(0, 300, (2000, 2)).tolist()


def warnings_of(folder, text, **options):
    (folder / "e.txt").write_text(text)
    make(folder / "d", folder / "e.txt", **options)
    return json.loads((folder / "d/report.json").read_text())["warnings"]


def lines(rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def test_a_second_delimiter_and_a_rating_as_destination(tmp_path):
    text = "".join(f"{1990 + k % 30}|{k}|{k * 7 % 1000}\t{k % 5}\n" for k in range(2000))
    found = "\n".join(warnings_of(tmp_path, text))
    assert "every source that was looked at has 2 '|', for example '1990|0|0': if that is a delimiter, give --delimiter pipe" in (
        found
    )
    assert "nearly all destinations are small numbers (0, 1, 2, ...)" in found
    assert "2,005 nodes are more than the 2,000 edges" in found


def test_columns_in_the_wrong_order(tmp_path):
    rows = [(s, f"r{k % 20}", d) for k, (s, d) in enumerate(ENDS)]
    assert warnings_of(tmp_path, lines(rows), columns="src,rel,dst") == []
    wrong = "\n".join(warnings_of(tmp_path, lines(rows), columns="src,dst,rel", overwrite=True))
    assert "300 relations are many for 320 nodes" in wrong


@pytest.mark.parametrize(
    "rows",
    [
        ENDS,
        [(f"n{s}|x" if k % 3 else f"n{s}", f"n{d}") for k, (s, d) in enumerate(ENDS)],  # not in every row
        [(k, k // 2) for k in range(1, 3000)],  # a tree
        sorted(((s + 1000, d) for s, d in ENDS), key=lambda row: row[1]),  # the first destinations are small
        [(1, 5), (2, 5), (3, 5)],  # too few to tell
    ],
    ids=["plain", "some bars", "tree", "sorted", "few"],
)
def test_graphs_warn_of_nothing(tmp_path, rows):
    assert warnings_of(tmp_path, lines(rows), memory="2MiB") == []


def test_nodes_that_are_given_are_not_too_many(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5000, 1), np.float32))
    [said] = warnings_of(tmp_path, lines(ENDS), features=tmp_path / "x.npy")
    assert said.startswith("4,700 of 5,000 nodes have no edge, and stand only in files about nodes")


def test_the_first_rows_are_shown_printable(tmp_path, caplog):
    caplog.set_level("INFO", "marius_lite")
    rows = [("a\x1b[31m", "likes", "b" * 200), ("c", "likes", "d"), ("é", "r", "f"), ("g", "r", "h")]
    warnings_of(tmp_path, lines(rows))
    err = "\n".join(caplog.messages)
    assert r"  source 'a\x1b[31m', relation 'likes', destination '" + "b" * 60 + "...'" in err
    assert "  source 'é', relation 'r', destination 'f'" in err
    assert "source 'g'" not in err
    assert "\x1b[31m" not in err


@pytest.mark.parametrize("form", ["Plate [{}]", "Plate ({})", "(2R)-{}", "{{7}} {}", "Kit 4) {}", "(1 of {}"])
def test_brackets_in_names_are_no_json(tmp_path, form):
    assert warnings_of(tmp_path, lines((form.format(s), form.format(d)) for s, d in ENDS)) == []


@pytest.mark.parametrize("row", ["({},{})\n", '["{}", "r", "{}"]\n', "[{} {}]\n"])
def test_rows_in_brackets_are_told(tmp_path, row):
    found = warnings_of(tmp_path, "".join(row.format(s, d) for s, d in ENDS))
    assert [line for line in found if "looks like JSON or a tuple: write columns with a delimiter between them" in line]


NAMED = [(f"n{s}", f"r{s % 7}", f"n{d}") for s, d in ENDS]


def test_titles_of_any_name_above_text_are_asked_about(tmp_path):
    title = ("erstes Paper", "zitiert", "zweites Paper")
    [found] = warnings_of(tmp_path, lines([title, *NAMED]), memory="2MiB")
    assert found == (
        "'erstes Paper', 'zitiert', 'zweites Paper': the first row, of which nothing stands in any other: if it has "
        "the columns' titles, give --header yes"
    )
    (tmp_path / "v.txt").write_text(lines([title, *NAMED[:100]]))
    assert warnings_of(tmp_path, lines([title, *NAMED]), valid=[tmp_path / "v.txt"], overwrite=True)[0] == found
    assert warnings_of(tmp_path, lines([title, *NAMED]), header="yes", overwrite=True) == []
    [found] = warnings_of(tmp_path, lines((s, d) for s, _, d in [title, *NAMED]), overwrite=True)
    assert found.startswith("'erstes Paper', 'zweites Paper': the first row")


@pytest.mark.parametrize("first", [("n3", "once", "alone"), ("alone", "r1", "too"), ("alone", "once", "n5"), ("9", "once", "10")])
def test_a_first_row_that_shares_something_is_no_titles(tmp_path, first):
    assert warnings_of(tmp_path, lines([first, *NAMED])) == []


def test_a_delimiter_in_quotes_is_not_advised(tmp_path):
    """Titles of films have commas. That the file is cut at commas is known."""
    text = "".join(f'person {s},"film {d}, part 2"\n' for s, d in ENDS)
    assert warnings_of(tmp_path, text) == []
    text = "".join(f'person {s}|7,"film {d}, part 2"\n' for s, d in ENDS)
    assert any("--delimiter pipe" in line for line in warnings_of(tmp_path, text, overwrite=True))
