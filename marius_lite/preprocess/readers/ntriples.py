"""N-Triples: ``<subject> <predicate> <object> .`` on each line. Every term is an id as it is written.

Brackets, quotes and escapes are part of the id. Terms are separated, but not checked in every detail: an IRI is anything in < >.
Source: https://www.w3.org/TR/n-triples/.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.format import Format, called
from marius_lite.preprocess.readers.gr import first_row
from marius_lite.preprocess.readers.shape import Layout, LineShape
from marius_lite.preprocess.readers.text import open_lines

COMMENT = b"#"
UNIT = "\x1f"
IRI, BLANK = r'<[^<>" \t]*>', r'_:[^<>" \t]+'
LITERAL = rf'"(?:[^"\\]|\\.)*"(?:\^\^{IRI}|@[A-Za-z0-9-]+)?'
TRIPLE = re.compile(rf"[ \t]*({IRI}|{BLANK})[ \t]+({IRI})[ \t]*({IRI}|{BLANK}|{LITERAL})[ \t]*\.[ \t]*(?:#.*)?\r?")
OPEN, CLOSE, QUOTE, UNDERLINE, COLON, DOT, SPACE, TAB, NEWLINE = b'<>"_:. \t\n'
Text = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


class TripleShape(LineShape):
    """Lines of triples. Blocks whose lines all have one space or tab between terms are cut at once, other lines one by one."""

    def prepare(self, data: bytes) -> bytes | None:
        """Return the lines with delimiters in place of the gaps between terms; None unless all gaps are one space or tab."""
        data = re.sub(rb"\n\n+", b"\n", data.replace(b"\r\n", b"\n")).lstrip(b"\n")
        text = np.frombuffer(data, np.uint8).copy()
        ends = np.flatnonzero(text == NEWLINE)
        starts = np.concatenate([[0], ends[:-1] + 1])
        gaps = np.flatnonzero((text == SPACE) | (text == TAB))
        first = np.searchsorted(gaps, starts)
        if UNIT.encode() in data or first[-1] + 2 >= len(gaps):
            return None
        cuts = [starts - 1, gaps[first], gaps[first + 1], ends - 2]
        if not _plain(text, gaps, cuts):
            return None
        for cut in cuts[1:]:
            text[cut] = ord(UNIT)
        return text.tobytes()

    def doubtful(self, role: str, values: pa.Array) -> bool:
        """Whether a literal is not written as it should be."""
        if role != "dst":
            return False
        literals = values.filter(pc.starts_with(values, '"'))
        return not pc.all(pc.match_substring_regex(literals, f"^(?:{LITERAL})$"), min_count=0).as_py()

    def split(self, line: str) -> list[str]:
        if not (triple := TRIPLE.fullmatch(line)):
            raise ValueError("no triple: <subject> <predicate> <object> . was expected")
        return [*triple.groups(), "."]

    def joined(self, line: bytes, fields: list[str]) -> bytes:
        return UNIT.join(fields).encode("utf-8", "surrogateescape")


def _plain(text: Text, gaps: Places, cuts: list[Places]) -> bool:
    """Whether the terms between ``cuts`` are what they should be. Of literals only the first quote is checked."""
    _, one, two, last = cuts
    if not ((one < two) & (two < last)).all() or not (np.isin(text[last], (SPACE, TAB)) & (text[last + 1] == DOT)).all():
        return False
    inside = {
        mark: np.diff([np.searchsorted(places, cut) for cut in cuts], axis=0)
        for mark, places in ((mark, np.flatnonzero(text == mark)) for mark in (OPEN, CLOSE, QUOTE))
    }

    def iri(term: int) -> Any:
        ends = (text[cuts[term] + 1] == OPEN) & (text[cuts[term + 1] - 1] == CLOSE)
        return ends & (inside[OPEN][term] == 1) & (inside[CLOSE][term] == 1) & (inside[QUOTE][term] == 0)

    def blank(term: int) -> Any:
        left, right = cuts[term], cuts[term + 1]
        begins = (text[left + 1] == UNDERLINE) & (text[left + 2] == COLON) & (right - left > 3)
        return begins & (inside[OPEN][term] == 0) & (inside[CLOSE][term] == 0) & (inside[QUOTE][term] == 0)

    one_word = np.searchsorted(gaps, last) - np.searchsorted(gaps, two) == 1
    name = one_word & (iri(2) | blank(2))
    literal = text[two + 1] == QUOTE
    return bool(((iri(0) | blank(0)) & iri(1) & (name | literal)).all())


def is_ntriples(sample: bytes) -> bool:
    """Whether the first row is a triple."""
    return TRIPLE.fullmatch(first_row(sample, COMMENT)[1].decode("utf-8", "replace")) is not None


def ntriples_shape(sample: bytes, options: Options, path: str) -> LineShape | None:
    """Return the shape, which is the same for all N-Triples; None without a row."""
    if not first_row(sample, COMMENT)[0]:
        return None
    return TripleShape(UNIT, False, 4, {"src": 0, "rel": 1, "dst": 2}, "str", COMMENT, fixed={3: "."}, description="N-Triples")


NTRIPLES = Layout(lambda _: COMMENT, ntriples_shape)
FORMAT = Format(
    lambda opening: open_lines(opening, NTRIPLES), begins=is_ntriples, named=called(".nt"), lines=True, own_columns=True
)
