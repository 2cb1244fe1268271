"""PACE and DIMACS graphs: comment lines ``c ...``, a line ``p NAME NODES EDGES``, then a line for each edge or arc.

PACE treewidth (``p tw``) has lines ``u v``; DIMACS shortest paths (``p sp``) has arcs ``a u v length``, whose lengths are left
out; DIMACS graph colouring (``p edge``, ``p col``) has edges ``e u v``. Ids count from 1, and all up to NODES exist.
Sources: https://pacechallenge.org/2017/treewidth/, http://www.diag.uniroma1.it/challenge9/format.shtml.
"""

from __future__ import annotations

import re

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.format import Format, called
from marius_lite.preprocess.readers.shape import Layout, LineShape, SpacedShape
from marius_lite.preprocess.readers.text import open_lines

PROBLEM = re.compile(rb"p[ \t]+(tw|sp|edge|col)[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?")
COMMENT = b"c"
LEADS = {"tw": None, "sp": "a", "edge": "e", "col": "e"}  # what a line of each problem starts with
KIND = "PACE/DIMACS .gr"


def first_row(sample: bytes, comment: bytes) -> tuple[int, bytes]:
    """Return the number and the first line that is neither blank nor a comment; (0, b"") without one."""
    for number, line in enumerate(sample.split(b"\n"), 1):
        if line.strip() and not line.startswith(comment):
            return number, line
    return 0, b""


def is_gr(sample: bytes) -> bool:
    """Whether a file that starts so is such a graph."""
    return PROBLEM.fullmatch(first_row(sample, COMMENT)[1]) is not None


def gr_shape(sample: bytes, options: Options, path: str) -> LineShape | None:
    """Return the shape that the problem line gives. Raises UserError without such a line."""
    number, line = first_row(sample, COMMENT)
    if not number:
        return None
    if not (match := PROBLEM.fullmatch(line)):
        text = line[:80].decode("utf-8", "backslashreplace")
        raise UserError(
            f"{path}:{number}: no problem line: {text!r}: a {KIND} file says first 'p tw NODES EDGES', or p sp, p edge, p col: "
            "mend the line, or read the file as a plain edge list with --format text"
        )
    problem, nodes, rows = match[1].decode(), int(match[2]), int(match[3])
    lead = LEADS[problem]
    at = 0 if lead is None else 1
    # Some files of p edge and p col count each edge once and list it twice, or the other way round.
    exact = lead != "e"
    return SpacedShape(
        " ",
        True,
        2 + at + (problem == "sp"),
        {"src": at, "dst": at + 1},
        "int",
        COMMENT,
        fixed={0: lead} if lead else {},
        nodes=nodes,
        rows=rows if exact else None,
        description=f"{KIND} (p {problem}, {nodes:,} nodes, {rows:,} edges announced)",
    )


GR = Layout(lambda _: COMMENT, gr_shape)
FORMAT = Format(lambda opening: open_lines(opening, GR), begins=is_gr, named=called(".gr"), lines=True, own_columns=True)
