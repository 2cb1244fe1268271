"""The shape of a text file, from its first lines: delimiter, header, roles of columns, and whether ids are integers."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping

from marius_lite.errors import UserError
from marius_lite.preprocess.option_texts import WHITESPACE
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.roles import FindRoles, find_roles, left_out
from marius_lite.preprocess.readers.shape import NUMBER, PLAIN_INT, Layout, LineShape, SpacedShape
from marius_lite.sizes import is_number

DELIMITERS = ("\t", ",", ";", "|", " ")
IDS = ("src", "dst", "id")
VALUES = ("weight", "time")
SHOWN = {"\t": "tab", " ": "space", WHITESPACE: "spaces or tabs"}


def sniff(sample: bytes, options: Options, path: str, find: FindRoles = find_roles) -> LineShape | None:
    """Return the shape of a file that starts with ``sample`` (whole lines); None without a row. ``find`` finds the roles of
    columns.

    Raises UserError where the sample makes no sense."""
    if not (lines := rows_of(sample, options)):
        return None
    delimiter = options.delimiter or _delimiter(lines[:100], path)
    bare = _bare(delimiter)
    fields = Counter(len(fields_of(bare, line)) for line in lines[:100]).most_common(1)[0][0]
    if fields < 2:
        raise UserError(f"{path}:1: no delimiter {delimiter!r} in {lines[0][:80]!r}: give the right one with --delimiter")
    first = [name.strip().strip('"') for name in row] if len(row := fields_of(bare, lines[0])) == fields else []
    if first and not first[0] and not any(line and line[0] for line in (fields_of(bare, each) for each in lines[1:2])):
        first = []  # an index without a title would have numbers below it
    roles, named = find(first if options.header != "no" else [], fields, options, f"{path}:1")
    if not named and options.columns is None and list(roles) == ["src", "rel", "dst"]:
        _require_ids([fields_of(bare, line) for line in lines[1:100]], path)
    ends = tuple(roles[role] for role in IDS if role in roles)
    below = _all_plain(lines[1:] if named or first else lines, bare, fields, ends)
    whole = [PLAIN_INT.fullmatch(row[end]) is not None for end in ends] if first else []
    numbers = bool(first) and any(NUMBER.fullmatch(row[end]) for end in ends)  # 007 is no plain integer, but no title either
    titles = bool(first) and (named or (below is True and not numbers) or _above_numbers(lines[:100], bare, roles))
    header = options.header == "yes" or (options.header == "auto" and titles)
    plain = below is True if header else below is not False and all(whole)
    by_place = ",".join(sorted(roles, key=roles.__getitem__))
    shown = SHOWN.get(delimiter, repr(delimiter))
    of_columns = tuple(first[place] for place in roles.values()) if header and first else ()
    return type(bare)(
        bare.delimiter,
        header,
        fields,
        roles,
        "int" if plain else "str",
        options.comment.encode(),
        description=f"text, delimiter {shown}, columns {by_place}"
        + (f", with a header{left_out(first, roles.values())}" if header else ""),
        titles=of_columns,
    )


def rows_of(sample: bytes, options: Options) -> list[str]:
    """Return the lines of ``sample`` that are neither blank nor comments."""
    lines = sample.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    return [line for line in lines if line.strip(" ") and not (options.comment and line.startswith(options.comment))]


def _require_ids(rows: list[list[str]], path: str) -> None:
    """Raise UserError where columns that nothing names are two of whole numbers and one of fractions, which are no ids."""
    rows = [row for row in rows if len(row) == 3]
    fractions = [row[2] for row in rows if is_number(row[2]) and 0 < float(row[2]) % 1 < 1]
    whole = all(PLAIN_INT.fullmatch(row[place]) for row in rows for place in (0, 1))
    if whole and fractions and all(is_number(row[2]) for row in rows):
        raise UserError(
            f"{path}: the first two columns are whole numbers, and the third has fractions ({fractions[0]}), which are no ids: "
            "say what the columns are with --columns src,dst,weight, or src,dst,_ to leave the third out"
        )


def _above_numbers(lines: list[str], shape: LineShape, roles: Mapping[str, int]) -> bool:
    """Whether the first line has words where the next ones have numbers alone, as weights or times."""
    rows = [row for row in (fields_of(shape, line) for line in lines) if len(row) > max(roles.values())]
    for place in (roles[role] for role in VALUES if role in roles):
        first, *others = (row[place].strip() for row in rows)
        if first and not is_number(first) and others and all(map(is_number, others)):
            return True
    return False


def _all_plain(lines: list[str], shape: LineShape, fields: int, ends: tuple[int, ...]) -> bool | None:
    """Whether all ends are integers, in all lines with so many fields; None without such a line."""
    other = f"[^{re.escape(shape.delimiter)}\n]*"
    line = re.escape(shape.delimiter).join(PLAIN_INT.pattern if field in ends else other for field in range(fields))
    text = "\n".join([*lines, ""])
    if lines and not (shape.quoted and '"' in text) and re.fullmatch(f"(?:{line}\n)*+", text):  # the fast way, for most files
        return True
    plain = None
    for each in lines:
        if len(row := fields_of(shape, each)) == fields:
            if not all(PLAIN_INT.fullmatch(row[end]) for end in ends):
                return False
            plain = True
    return plain


def _bare(delimiter: str) -> LineShape:
    """Return a shape that only splits lines."""
    kind, between = (SpacedShape, " ") if delimiter == WHITESPACE else (LineShape, delimiter)
    return kind(between, False, 0, {}, "str")


def fields_of(shape: LineShape, line: str) -> list[str]:
    """Return the fields of a line; none where a quote does not close."""
    try:
        return shape.split(line)
    except csv.Error:
        return []


def _delimiter(lines: list[str], path: str) -> str:
    """Return the character that cuts most lines into the same number of fields, at least two.

    It is `WHITESPACE` where single spaces would leave empty fields, or no character fits more than half of the lines.
    """

    def agreeing(delimiter: str) -> int:
        counts = Counter(len(fields_of(_bare(delimiter), line)) for line in lines)
        fields, lines_with = max(counts.items(), key=lambda item: (item[0] > 1, item[1]))
        return lines_with if fields > 1 else 0

    best = max(DELIMITERS, key=lambda delimiter: (agreeing(delimiter), -DELIMITERS.index(delimiter)))
    uneven = best == " " and any("" in line.split(" ") for line in lines)
    if (uneven or 2 * agreeing(best) <= len(lines)) and agreeing(WHITESPACE) >= agreeing(best):
        best = WHITESPACE
    if not agreeing(best):
        raise UserError(
            f"{path}: no tab, comma, semicolon, | or space in {lines[0][:80]!r}: at least two columns are needed; "
            "give the delimiter with --delimiter"
        )
    return best


DELIMITED = Layout(lambda options: options.comment.encode(), sniff)
