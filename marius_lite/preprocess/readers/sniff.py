"""What a text file looks like: delimiter, header, which column is what, and whether ids are integers."""

from __future__ import annotations

import csv
from collections import Counter

from marius_lite.errors import UserError
from marius_lite.preprocess.options import WHITESPACE, Options
from marius_lite.preprocess.readers.roles import FindRoles, find_roles
from marius_lite.preprocess.readers.shape import PLAIN_INT, Layout, Shape, SpacedShape

DELIMITERS = ("\t", ",", ";", "|", " ")
IDS = ("src", "dst", "id")
SHOWN = {"\t": "tab", " ": "space", WHITESPACE: "spaces or tabs"}


def sniff(sample: bytes, options: Options, path: str, find: FindRoles = find_roles) -> Shape | None:
    """The shape of a file that starts with ``sample`` (whole lines), None without a row. ``find`` tells its columns.

    Raises UserError where it makes no sense."""
    lines = [
        line
        for line in sample.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        if line.strip(" ") and not (options.comment and line.startswith(options.comment))
    ]
    if not lines:
        return None
    delimiter = options.delimiter or _delimiter(lines[:100], path)
    bare = _bare(delimiter)
    rows = [_fields(bare, line) for line in lines]
    fields = Counter(len(row) for row in rows[:100]).most_common(1)[0][0]
    if fields < 2:
        raise UserError(
            f"{path}:1: no delimiter {delimiter!r} in {lines[0][:80]!r}: give the right one with --delimiter"
        )
    rows = [row for row in rows if len(row) == fields] or [bare.split(lines[0])]
    first = [name.strip() for name in rows[0]] if len(_fields(bare, lines[0])) == fields else []
    roles, named = find(first if options.header != "no" else [], fields, options, f"{path}:1")
    below = rows[1:] if named or first else rows
    ends = [roles[role] for role in IDS if role in roles]
    plain = bool(below) and all(PLAIN_INT.fullmatch(row[end]) for row in below for end in ends)
    typed = plain and bool(first) and not any(PLAIN_INT.fullmatch(rows[0][end]) for end in ends)
    header = options.header == "yes" or (options.header == "auto" and bool(first) and (named or typed))
    if not header:
        plain = all(PLAIN_INT.fullmatch(row[end]) for row in rows for end in ends)
    by_place = ",".join(sorted(roles, key=roles.__getitem__))
    shown = SHOWN.get(delimiter, repr(delimiter))
    return type(bare)(bare.delimiter, header, fields, roles, "int" if plain else "str", options.comment.encode(),
                 description=f"text, delimiter {shown}, columns {by_place}{', with a header' if header else ''}")


def _bare(delimiter: str) -> Shape:
    """A shape that splits lines."""
    kind, between = (SpacedShape, " ") if delimiter == WHITESPACE else (Shape, delimiter)
    return kind(between, False, 0, {}, "str")


def _fields(shape: Shape, line: str) -> list[str]:
    try:
        return shape.split(line)
    except csv.Error:
        return []


def _delimiter(lines: list[str], path: str) -> str:
    """The character that cuts most lines into one same number of fields, at least two.

    `WHITESPACE` where single spaces would leave empty fields, or no character fits more than half of the lines.
    """

    def agreeing(delimiter: str) -> int:
        counts = Counter(len(_fields(_bare(delimiter), line)) for line in lines)
        fields, lines_with = max(counts.items(), key=lambda item: (item[0] > 1, item[1]))
        return lines_with if fields > 1 else 0

    best = max(DELIMITERS, key=lambda delimiter: (agreeing(delimiter), -DELIMITERS.index(delimiter)))
    uneven = best == " " and any("" in line.split(" ") for line in lines)
    if (uneven or 2 * agreeing(best) <= len(lines)) and agreeing(WHITESPACE) >= agreeing(best):
        best = WHITESPACE
    if not agreeing(best):
        raise UserError(f"{path}: no tab, comma, semicolon, | or space in {lines[0][:80]!r}: at least two columns are needed; "
                        "give the delimiter with --delimiter")
    return best


DELIMITED = Layout(lambda options: options.comment.encode(), sniff)
