"""Signs that the input is not what it was taken for. They are looked for in a few rows of each block, and in counts at the end.

A sign must hold in every block. Once a block disproves it, it is not looked for again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.preprocess.readers.raw import RawEdges
from marius_lite.preprocess.readers.sniff import SHOWN

SAMPLE = 1000  # rows of a block
LEAST_ROWS, LEAST_EDGES = 10, 100  # fewer rows that agree, or edges of a graph, show nothing
SHOWN_ROWS, SHOWN_LENGTH = 3, 60
TEXT = "text"
DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe"}
SMALL_NUMBER = r"^-?([0-9]{1,2}|100)(\.[0-9]+)?$"
NEARLY_ALL = 0.99
ODD = {  # what the warning says of an id -> the pattern of such ids
    "begins or ends with a space: with and without it are two nodes; remove the spaces": r"^[\s\x{00A0}]|[\s\x{00A0}]$",
    "is in quotes: these are read as such in comma-separated files only, elsewhere they belong to the id; remove them": r'^".*"$',
    "is a number with a point: as text it is another node than the whole number; write integers": r"^-?[0-9]+\.0+$",
}
BRACKETED = "looks like JSON or a tuple: write columns with a delimiter between them"
OPENS, CLOSES = r"^[\{\(\[]\s*[\"'0-9][^\}\)\]]*$", r"^[^\{\(\[]*[0-9\"']\s*[\}\)\]]$"
"""The first and the last column of such a row. A bracket that is closed in its own column is part of a name: Plate [22]."""
SOURCES_EACH = 5  # sources to a destination: so many are rare in graphs, but usual in tables of values
MOST_VALUES = 101
MOST_RELATIONS = 100  # that are never too many


def shown(edges: RawEdges) -> Iterator[str]:
    """Return the first edges of a block, a line each, printable."""
    columns = (("source", edges.src), ("relation", edges.rel), ("destination", edges.dst))
    for row in range(min(SHOWN_ROWS, len(edges.src))):
        yield "  " + ", ".join(f"{name} {_printable(values[row].as_py())}" for name, values in columns if values is not None)


def _without(found: dict[str, tuple[str, str]], known: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {sign: where for sign, where in found.items() if sign not in known}


def _printable(raw: str | int) -> str:
    if isinstance(raw, int):
        return str(raw)
    return repr(raw if len(raw) <= SHOWN_LENGTH else raw[:SHOWN_LENGTH] + "...")


class Misreads:
    """Looks at blocks of edges in turn. At the end `warnings` has a line for each sign that no block disproved.

    ``others``: what looked at the first row of all, where these blocks are from further on in the input.
    """

    def __init__(self, others: Misreads | None = None) -> None:
        self._splits: dict[tuple[str, str], int | None] = {
            (column, delimiter): None for column in ("source", "relation", "destination") for delimiter in DELIMITERS
        }
        self._example: dict[str, str] = {}
        self._values: set[str] | None = set()
        self._again = tuple[str, ...]()
        self._same: str | None = ""
        self._odd: dict[str, tuple[str, str]] = {}
        self._begun = others is not None
        self._titles: tuple[str, str | None, str] | None = others._titles if others else None
        self._rows = 0

    def look(self, edges: RawEdges, read_as: str, titles: tuple[str, ...] = ()) -> None:
        """Look for signs in a block. ``read_as``: how the file is read, as its reader describes it. ``titles``: of source and
        destination, perhaps of more columns."""
        delimited = read_as.startswith(TEXT)  # the rows are text that a delimiter cut
        used = next(
            (each for each in DELIMITERS if read_as.startswith(f"{TEXT}, delimiter {SHOWN.get(each, repr(each))},")), None
        )
        self._splits = {key: count for key, count in self._splits.items() if key[1] != used}  # in quotes it is no delimiter
        self._look_for_titles(edges, titles)
        self._look_at_titles(edges, delimited)
        rows = np.unique(np.linspace(0, max(0, len(edges.src) - 1), SAMPLE).astype(np.int64))  # files may be sorted by relation
        src, dst = edges.src.take(rows), edges.dst.take(rows)
        self._rows += len(src)
        self._look_at_values(src, dst)
        if delimited and pa.types.is_string(src.type):
            self._look_at_texts({"source": src, "destination": dst})
        if not delimited:
            self._splits.clear()
        if self._splits:
            rel = None if edges.rel is None else edges.rel.take(rows).dictionary_decode()
            columns = {"source": src, "relation": rel, "destination": dst}
            for (column, delimiter), before in list(self._splits.items()):
                self._look_for(delimiter, column, columns[column], before)

    def _look_for(self, delimiter: str, column: str, values: pa.Array | None, before: int | None) -> None:
        count = 0
        if values is not None and pa.types.is_string(values.type):
            limits = pc.min_max(pc.count_substring(values, delimiter))
            count = limits["max"].as_py() if limits["min"] == limits["max"] else 0
        if count == 0 or before not in (None, count):
            del self._splits[column, delimiter]
            return
        assert values is not None
        self._splits[column, delimiter] = count
        self._example.setdefault(column, _printable(values[0].as_py()))

    def _look_for_titles(self, edges: RawEdges, titles: tuple[str, ...]) -> None:
        """Look for titles among the rows, as where files were put one after another."""
        if len(titles) < 2 or self._again or not pa.types.is_string(edges.src.type):
            return
        same = pc.equal(edges.src, titles[0])
        if (
            pc.any(same, min_count=0).as_py()
            and pc.any(pc.and_(same, pc.is_in(edges.dst, value_set=pa.array(titles[1:]))), min_count=0).as_py()
        ):
            self._again = titles

    def _look_at_titles(self, edges: RawEdges, delimited: bool) -> None:
        """Look whether texts of the very first row occur in other rows. Rows equal to it do not count: files may have the same
        titles."""
        named = delimited and pa.types.is_string(edges.src.type)
        if self._rows == 0 and named and not self._begun:
            src, dst = edges.src[0].as_py(), edges.dst[0].as_py()
            rel = None if edges.rel is None else edges.rel[0].as_py()
            self._titles = None if src.isdigit() or dst.isdigit() else (src, rel, dst)
        if not named or self._titles is None:
            self._titles = None
            return
        src, rel, dst = self._titles
        from_src, to_dst = pc.equal(edges.src, src), pc.equal(edges.dst, dst)
        same, any_of = pc.and_(from_src, to_dst), [from_src, to_dst, pc.equal(edges.src, dst), pc.equal(edges.dst, src)]
        if edges.rel is not None:
            of_rel = pc.equal(edges.rel.indices, pc.index(edges.rel.dictionary, rel))
            same, any_of = pc.and_(same, of_rel), [*any_of, of_rel]
        if any(pc.any(pc.and_not(one, same), min_count=0).as_py() for one in any_of):
            self._titles = None

    def _look_at_values(self, src: pa.Array, dst: pa.Array) -> None:
        """Look whether destinations are a few small numbers, and sources many different ones: values, not nodes."""
        if self._values is None:
            return
        small = pc.match_substring_regex(dst.cast(pa.string()), SMALL_NUMBER)
        if pc.mean(small).as_py() < NEARLY_ALL:
            self._values = None
            return
        distinct = pc.unique(dst.filter(small)).cast(pa.string()).to_pylist()
        self._values.update(distinct)
        if len(self._values) > MOST_VALUES or len(pc.unique(src)) < SOURCES_EACH * len(distinct):
            self._values = None

    def _look_at_texts(self, ends: dict[str, pa.Array]) -> None:
        """Look for ids that are probably misspelt, and for one destination of all edges."""
        for end, values in ends.items():
            for sign, pattern in ODD.items():
                if sign not in self._odd and (row := pc.index(pc.match_substring_regex(values, pattern), True).as_py()) >= 0:
                    self._odd[sign] = end, _printable(values[row].as_py())
        if BRACKETED not in self._odd:
            opens, closes = (pc.match_substring_regex(values, way) for values, way in zip(ends.values(), (OPENS, CLOSES)))
            if (row := pc.index(pc.and_(opens, closes), True).as_py()) >= 0:
                self._odd[BRACKETED] = "source", _printable(ends["source"][row].as_py())
        distinct = pc.unique(ends["destination"])
        alone = distinct[0].as_py() if len(distinct) == 1 else None
        self._same = alone if self._same in ("", alone) else None

    def merge(self, later: Misreads) -> None:
        """Take what was seen in later blocks by another object, as if this one had looked at them."""
        if not later._rows:
            return
        if not self._rows:
            self.__dict__.update(later.__dict__)
            return
        self._splits = {key: count for key, count in self._splits.items() if later._splits.get(key) == count is not None}
        self._example, self._odd = {**later._example, **self._example}, {**self._odd, **_without(later._odd, self._odd)}
        values = None if self._values is None or later._values is None else self._values | later._values
        self._values = None if values is None or len(values) > MOST_VALUES else values
        self._again = self._again or later._again
        self._same = self._same if self._same == later._same else None
        self._titles = self._titles if later._titles else None
        self._rows += later._rows

    @property
    def warnings(self) -> list[str]:
        lines = [f"the {end} {example} {sign}" for sign, (end, example) in self._odd.items()]
        if self._again:
            lines.append(
                f"the titles {', '.join(map(_printable, self._again))} stand again among the rows, and are an edge "
                "there: remove them, where files were put one after another"
            )
        if self._rows >= LEAST_EDGES and self._same:
            lines.append(
                f"every edge that was looked at has the destination {_printable(self._same)}: if that is the wrong "
                "column, name all in their order, for example --columns src,dst,_"
            )
        if self._rows >= LEAST_ROWS:
            lines += [
                f"every {column} that was looked at has {count} {delimiter!r}, for example {self._example[column]}: if "
                f"that is a delimiter, give --delimiter {DELIMITERS[delimiter]}"
                for (column, delimiter), count in self._splits.items()
                if count is not None
            ]
        if self._rows >= LEAST_EDGES and self._titles:
            names = [_printable(title) for title in self._titles if title is not None]
            lines.append(
                f"{', '.join(names)}: the first row, of which nothing stands in any other: if it has the columns' "
                "titles, give --header yes"
            )
        if self._rows >= LEAST_EDGES and self._values:
            lines.append(
                f"nearly all destinations are small numbers ({', '.join(sorted(self._values)[:SHOWN_ROWS])}, ...): if "
                "that column is a weight or a rating, name all in their order, for example --columns src,dst,weight"
            )
        return lines


def count_warnings(nodes: int | None, edges: int, relations: int) -> list[str]:
    """Return a line for each odd count at the end. ``nodes``: None where files about nodes give some, so that the number shows
    nothing."""
    lines: list[str] = []
    if nodes is None or edges < LEAST_EDGES:
        return lines
    if nodes > edges + 1:  # one tree has as many
        lines.append(
            f"{nodes:,} nodes are more than the {edges:,} edges: is the input read as it is meant? preprocess "
            "shows its first rows"
        )
    if relations > max(MOST_RELATIONS, nodes / 10):
        lines.append(
            f"{relations:,} relations are many for {nodes:,} nodes: if the columns stand in another order, name them, "
            "for example --columns src,dst,rel"
        )
    return lines
