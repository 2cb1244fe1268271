"""MatrixMarket coordinate files. Entries of a square matrix are edges from row to column; values are left out.

A symmetric matrix has each undirected edge once. Ids count from 1, and all up to the number of rows exist.
Source: https://math.nist.gov/MatrixMarket/formats.html.
"""

from __future__ import annotations

import re

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.format import Format, called
from marius_lite.preprocess.readers.gr import first_row
from marius_lite.preprocess.readers.shape import Layout, LineShape, SpacedShape
from marius_lite.preprocess.readers.text import open_lines

BANNER = b"%%matrixmarket"
COMMENT = b"%"
VALUES = {"pattern": 0, "integer": 1, "real": 1, "double": 1, "complex": 2}
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
SIZE = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?")


def is_matrix_market(sample: bytes) -> bool:
    """Whether a file that starts so is a MatrixMarket file."""
    return sample[: len(BANNER)].lower() == BANNER


def matrix_market_shape(sample: bytes, options: Options, path: str) -> LineShape | None:
    """Return the shape that banner and size line give. Raises UserError where these are missing, and for a matrix that is no
    graph."""
    if not sample.strip():
        return None
    banner = sample.split(b"\n", 1)[0].decode("utf-8", "backslashreplace").strip()
    words = banner.lower().split()
    if (
        len(words) != 5
        or words[:3] != [BANNER.decode(), "matrix", "coordinate"]
        or words[3] not in VALUES
        or words[4] not in SYMMETRIES
    ):
        raise UserError(
            f"{path}:1: {banner[:80]!r}: the first line must be '%%MatrixMarket matrix coordinate' with one of "
            f"{', '.join(VALUES)} and one of {', '.join(SYMMETRIES)}: mend it, or read the file as a plain edge "
            "list with --format text"
        )
    number, line = first_row(sample, COMMENT)
    if not (size := SIZE.fullmatch(line)):
        text = line[:80].decode("utf-8", "backslashreplace")
        raise UserError(f"{path}:{number or 1}: no size line: {text!r}: ROWS COLUMNS ENTRIES must follow the comments")
    rows, columns, entries = (int(part) for part in size.groups())
    if rows != columns:
        raise UserError(
            f"{path}:{number}: {rows} rows and {columns} columns: rows and columns must be the same nodes; for a "
            "graph of two kinds of nodes, write text with names that tell them apart"
        )
    once = "" if words[4] == "general" else ", each undirected edge once"
    return SpacedShape(
        " ",
        True,
        2 + VALUES[words[3]],
        {"src": 0, "dst": 1},
        "int",
        COMMENT,
        nodes=rows,
        rows=entries,
        description=f"MatrixMarket ({words[3]} {words[4]}{once}, {rows:,} nodes, {entries:,} entries announced)",
    )


MATRIX_MARKET = Layout(lambda _: COMMENT, matrix_market_shape)
FORMAT = Format(
    lambda opening: open_lines(opening, MATRIX_MARKET),
    begins=is_matrix_market,
    named=called(".mtx"),
    lines=True,
    own_columns=True,
)
