"""What a text file looks like: delimiter, header, which column is what, and whether ids are integers."""

from __future__ import annotations

import csv
from collections import Counter

from marius_lite.errors import UserError
from marius_lite.preprocess.options import IGNORE, ROLES, Options
from marius_lite.preprocess.readers.shape import PLAIN_INT, Layout, Shape

DELIMITERS = ("\t", ",", ";", "|", " ")
SYNONYMS = {
    "src": {
        "src",
        "source",
        "source_id",
        "src_id",
        "head",
        "h",
        "head_id",
        "from",
        "from_id",
        "fromnodeid",
        "subject",
        "s",
        "u",
    },
    "dst": {
        "dst",
        "destination",
        "destination_id",
        "dst_id",
        "tail",
        "t",
        "tail_id",
        "to",
        "to_id",
        "tonodeid",
        "object",
        "o",
        "target",
        "target_id",
        "v",
    },
    "rel": {"rel", "relation", "relation_id", "rel_id", "r", "predicate", "p", "edge_type", "type", "label"},
}


def sniff(sample: bytes, options: Options, path: str) -> Shape | None:
    """The shape of a file that starts with ``sample`` (whole lines), None without a row.

    Raises UserError where it makes no sense."""
    lines = [
        line
        for line in sample.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        if line.strip(" ") and not (options.comment and line.startswith(options.comment))
    ]
    if not lines:
        return None
    delimiter = options.delimiter or _delimiter(lines[:100], options.columns, path)
    bare = Shape(delimiter, False, 0, {}, "str")
    rows = [_fields(bare, line) for line in lines]
    fields = Counter(len(row) for row in rows[:100]).most_common(1)[0][0]
    if fields < 2:
        raise UserError(
            f"{path}:1: no delimiter {delimiter!r} in {lines[0][:80]!r}: give the right one with --delimiter"
        )
    rows = [row for row in rows if len(row) == fields] or [lines[0].split(delimiter)]
    first = [name.strip() for name in rows[0]] if len(_fields(bare, lines[0])) == fields else []
    roles, named = _roles(first, fields, options, path)
    below = rows[1:] if named or first else rows
    ends = (roles["src"], roles["dst"])
    plain = bool(below) and all(PLAIN_INT.fullmatch(row[end]) for row in below for end in ends)
    typed = plain and bool(first) and not any(PLAIN_INT.fullmatch(rows[0][end]) for end in ends)
    header = options.header == "yes" or (options.header == "auto" and bool(first) and (named or typed))
    if not header:
        plain = all(PLAIN_INT.fullmatch(row[end]) for row in rows for end in ends)
    shown = {"\t": "tab", " ": "space"}.get(delimiter, repr(delimiter))
    by_place = ",".join(sorted(roles, key=roles.__getitem__))
    return Shape(delimiter, header, fields, roles, "int" if plain else "str", options.comment.encode(),
                 description=f"text, delimiter {shown}, columns {by_place}{', with a header' if header else ''}")


def _fields(shape: Shape, line: str) -> list[str]:
    try:
        return shape.split(line)
    except csv.Error:
        return []


def _delimiter(lines: list[str], columns: tuple[str, ...] | None, path: str) -> str:
    """The first candidate that cuts most lines into one same number of fields, at least two."""

    def agreeing(delimiter: str) -> int:
        counts = Counter(len(_fields(Shape(delimiter, False, 0, {}, "str"), line)) for line in lines)
        fields, lines_with = max(counts.items(), key=lambda item: (item[0] > 1, item[1]))
        return lines_with if fields > 1 else 0

    best = max(DELIMITERS, key=lambda delimiter: (agreeing(delimiter), -DELIMITERS.index(delimiter)))
    if not agreeing(best):
        raise UserError(
            f"{path}: no tab, comma, semicolon, | or space in {lines[0][:80]!r}: an edge has at least two "
            "columns; give the delimiter with --delimiter"
        )
    return best


def _roles(first: list[str], fields: int, options: Options, path: str) -> tuple[dict[str, int], bool]:
    """Which field plays which role, and whether the first row was seen to hold names."""
    lower = [name.lower() for name in first]
    if options.columns is None:
        return _usual_roles(lower, fields, options.header, path)
    wanted = options.columns
    if options.header != "no" and all(name in first for name in wanted if name != IGNORE):
        roles = (
            wanted
            if wanted[0] in ROLES or IGNORE in wanted
            else ("src", "dst")
            if len(wanted) == 2
            else ROLES
        )
        return {role: first.index(name) for role, name in zip(roles, wanted) if name != IGNORE}, True
    given = ",".join(wanted)
    if not set(wanted) <= {*ROLES, IGNORE}:
        missing = next(name for name in wanted if name not in first)
        raise UserError(
            f"{path}:1: --columns {given}: no column {missing!r} in the first row {','.join(first)[:120]!r}: "
            "use its names, or src,rel,dst for the order of the columns"
        )
    if len(wanted) != fields:
        raise UserError(
            f"{path}:1: the file has {fields} columns, --columns {given} names {len(wanted)}: name every "
            "one, with _ for those to ignore"
        )
    return {role: place for place, role in enumerate(wanted) if role != IGNORE}, False


def _usual_roles(names: list[str], fields: int, header: str, path: str) -> tuple[dict[str, int], bool]:
    found = {
        role: next((i for i, name in enumerate(names) if name in known), None)
        for role, known in SYNONYMS.items()
    }
    by_name = {role: place for role, place in found.items() if place is not None}
    if header != "no" and {"src", "dst"} <= set(by_name) and (fields == 2 or len(by_name) == 3 or fields > 3):
        return by_name, True
    if fields == 2:
        return {"src": 0, "dst": 1}, False
    if fields == 3:
        return {"src": 0, "rel": 1, "dst": 2}, False
    raise UserError(
        f"{path}:1: {fields} columns: say which they are with --columns, for example src,rel,dst,"
        + ",".join(["_"] * (fields - 3))
    )


DELIMITED = Layout(lambda options: options.comment.encode(), sniff)
