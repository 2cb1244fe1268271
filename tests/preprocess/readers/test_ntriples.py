"""N-Triples: terms are ids as they are written, whatever stands between them."""

import gzip
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import decoded, make

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.lines import LineBlock
from marius_lite.preprocess.readers.ntriples import ntriples_shape
from marius_lite.preprocess.readers.text import BlockParser

NAMES = ["<http://a.org/x>", "<http://a.org/y?q=\\u00e9>", "_:b0", "_:b-1"]
LITERALS = [
    '"plain"',
    '"two words"',
    '"say \\"hi\\" <now> ."',
    '"day"@en-GB',
    '"5"^^<http://w3.org/int>',
    '""',
    '"tab\\t and\ttab"',
    '"été . # no comment"',
]
RELATIONS = ["<http://a.org/r>", "<http://a.org/s#t>"]
TRIPLES = [(NAMES[i % 4], RELATIONS[i % 2], (NAMES + LITERALS)[i * 5 % 12]) for i in range(24)]


def parse(data, on_bad_row="skip"):
    options = Options.parse(edges=["e"], output="d", on_bad_row=on_bad_row)
    return BlockParser("f", ntriples_shape(data, options, "f"), "str", options).parse(LineBlock(data, 1))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("gap", [" ", "\t", "  "])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_kind_of_term(tmp_path, gap, newline, pack):
    lines = ["# a comment", "", *(gap.join([*triple, "."]) for triple in TRIPLES), "# the end"]
    (tmp_path / "g").write_bytes(pack(newline.join(lines).encode()))
    dataset = make(tmp_path / "d", tmp_path / "g")
    assert decoded(dataset) == Counter(TRIPLES)
    report = json.loads((tmp_path / "d/report.json").read_text())
    assert report["comment_lines"] == 2
    assert next(iter(report["read_as"])).startswith("N-Triples")


def test_comments_after_triples_and_no_gap_before_the_dot(tmp_path):
    (tmp_path / "g.nt").write_text('<a> <r> "b"@en. # said\n  _:x <r> <a>.\n<a> <r> <c>\t . \n')
    assert decoded(make(tmp_path / "d", tmp_path / "g.nt")) == {
        ("<a>", "<r>", '"b"@en'): 1,
        ("<a>", "<r>", "<c>"): 1,
        ("_:x", "<r>", "<a>"): 1,
    }


TERMS = st.sampled_from(
    [*NAMES, *LITERALS, "<a b>", "<a", '"open', 'x"', "<<a>", "<a>>", "_:", ".", "", '"a"b"', '<a"b>', '"q\\"']
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(TERMS, TERMS, TERMS, st.sampled_from([".", ". ", " .", "", ". # c"])), min_size=1, max_size=3))
def test_the_fast_pass_takes_what_the_slow_one_does(rows):
    """Whatever stands in a block, it is read as line after line alone is."""
    lines = [" ".join(row) for row in rows]
    together = parse("".join(line + "\n" for line in lines).encode()) if any(line.strip(" ") for line in lines) else None
    if together is None:
        return
    shape = ntriples_shape(b"x", Options.parse(edges=["e"], output="d"), "f")
    expected, bad = [], 0
    for line in lines:
        if not line.strip(" ") or line.startswith("#"):
            continue
        try:
            expected.append(tuple(shape.split(line)[:3]))
        except ValueError:
            bad += 1
    found = zip(together.src.to_pylist(), together.rel.to_pylist(), together.dst.to_pylist())
    assert (list(found), len(together.bad)) == (expected, bad)


@pytest.mark.parametrize(
    "line",
    [
        "<a> <r> .",
        "<a> <r> <b>",
        '"a" <r> <b> .',
        "<a> _:r <b> .",
        '<a> <r> "b .',
        "<a> <r> <b> <g> .",
        '<a> <r> "b"^^int .',
        "a r b .",
    ],
)
def test_a_bad_line_is_named(tmp_path, line):
    (tmp_path / "g.nt").write_text(f"# c\n<a> <r> <b> .\n{line}\n<b> <r> <a> .\n")
    with pytest.raises(UserError, match=r"g\.nt:3: no triple: .* was expected: ") as raised:
        make(tmp_path / "d", tmp_path / "g.nt")
    assert repr(line) in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["g.nt"]
    assert decoded(make(tmp_path / "d", tmp_path / "g.nt", on_bad_row="skip")).total() == 2


def test_the_plain_lines_take_the_fast_pass():
    lines = "".join(" ".join([*triple, "."]) + "\n" for triple in TRIPLES).encode()
    shape = ntriples_shape(lines, Options.parse(edges=["e"], output="d"), "f")
    assert shape.prepare(lines).count(b"\x1f") == 3 * len(TRIPLES)
    assert shape.prepare(lines + b"<a>  <r> <b> .\n") is None


def test_a_file_of_that_name_has_triples_whatever_its_first_line(tmp_path):
    (tmp_path / "g.nt").write_text("<a> <r> <b>\n<a> <r> <c> .\n")
    with pytest.raises(UserError, match=r"g\.nt:1: no triple: <subject> <predicate> <object> \. was expected"):
        make(tmp_path / "d", tmp_path / "g.nt")
    assert decoded(make(tmp_path / "d", tmp_path / "g.nt", on_bad_row="skip")) == {("<a>", "<r>", "<c>"): 1}
