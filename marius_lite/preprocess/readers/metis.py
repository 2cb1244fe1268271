"""METIS graph files: a line ``NODES EDGES [FORMAT [WEIGHTS]]``, then for each node, in turn, a line of its neighbours.

Ids count from 1. The file lists every undirected edge at both ends. It is taken once, from its smaller end. Vertex sizes, vertex
weights and edge weights are left out. Source: the METIS 5 manual, section 4.1.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.format import Format, called
from marius_lite.preprocess.readers.in_order import ordered_map
from marius_lite.preprocess.readers.lines import LineBlock, LineBlocks, count_lines, strip_comments
from marius_lite.preprocess.readers.raw import MOST_CONTENT, BadRow, RawEdges
from marius_lite.preprocess.readers.shape import PLAIN_INT, integer_of
from marius_lite.preprocess.readers.source import ByteStream

COMMENT = b"%"
HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})([ \t]+([01]{1,3})([ \t]+([0-9]{1,3}))?)?[ \t]*\r?")
TO_NEWLINE = bytes.maketrans(b"\t\r ", b"\n\n\n")
Ints = npt.NDArray[np.int64]


class MetisReader:
    """Reads the edges at their smaller ends, and at the end compares their number with the header's."""

    kind: IdKind = "int"
    titles: tuple[str, ...] = ()
    columns = 2

    def __init__(self, stream: ByteStream, options: Options, block_bytes: int, threads: int):
        self._stream = stream
        self._threads = threads
        self._skip = options.on_bad_row == "skip"
        self.path = stream.name
        self._lines = LineBlocks(stream, COMMENT, block_bytes)
        first = strip_comments(self._lines.sample, COMMENT)[0].split(b"\n")[0]
        if not (header := HEADER.fullmatch(first)):
            text = first[:80].decode("utf-8", "backslashreplace")
            raise UserError(
                f"{self.path}: {text!r}: a METIS file says first NODES EDGES, perhaps a format of three digits 0 or "
                "1 and a number of weights: mend the line, or read the file as edges with --format text"
            )
        self._count, self._edges = int(header[1]), int(header[2])
        sizes, weights, lengths = (digit == ord("1") for digit in (header[4] or b"").rjust(3, b"0"))
        self._before = sizes + (int(header[6] or 1) if weights else 0)
        self._step = 2 if lengths else 1

    @property
    def nodes(self) -> range:
        return range(1, self._count + 1)

    @property
    def description(self) -> str:
        packed = "" if self._stream.compression == "text" else f", {self._stream.compression}"
        return f"METIS ({self._count:,} nodes, {self._edges:,} edges announced, each taken once){packed}"

    @property
    def checksum(self) -> int:
        return self._stream.checksum

    def close(self) -> None:
        self._stream.close()

    def rows_expected(self) -> int:
        return self._edges

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        count, surplus, last = 0, 0, RawEdges(pa.array([], pa.int64()), None, pa.array([], pa.int64()))
        for last, more in ordered_map(lambda item: self._parse(*item, kind), self._numbered(), self._threads):
            count, surplus = count + len(last.src), surplus + more
            yield last
        if count == self._edges and surplus == 0:
            return
        what = f"{count} edges where its header says {self._edges}"
        if count == self._edges:
            what = f"{abs(surplus)} edges are listed at one end only"
        fault = BadRow(self.path, None, what)
        if not self._skip:
            raise UserError(
                f"{fault}: the file is cut short or was changed: get it again, read it as something else with "
                "--format, or take it as it is with --on-bad-row skip"
            )
        yield RawEdges(last.src[:0], None, last.dst[:0], 0, [fault])

    def _numbered(self) -> Iterator[tuple[LineBlock, int]]:
        """Read blocks of lines, and the node to which the first line of each belongs. 0 is the header."""
        node = 0
        for block in self._lines.blocks(header=False):
            yield block, node
            lines = count_lines(block.data)
            node += lines - strip_comments(block.data, COMMENT)[1]

    def _parse(self, block: LineBlock, first: int, kind: IdKind) -> tuple[RawEdges, int]:
        """Return the edges of a block, and how many more of them are listed at their smaller ends than at the others."""
        data, comments = strip_comments(block.data, COMMENT)
        comments += block.comments
        bad: list[BadRow] = []
        if first == 0 and data:
            data = b"\n" + data.split(b"\n", 1)[1]
        edges = self._edges_of(data, first)
        if edges is None:
            data, bad = self._check_lines(block, first)
            edges = self._edges_of(data, first)
        assert edges is not None, "the lines were checked one by one"
        node, neighbour = edges
        once = neighbour >= node
        surplus = int(np.count_nonzero(neighbour > node) - np.count_nonzero(~once))
        ends = [pa.array(end[once]) for end in edges]
        if kind == "str":
            ends = [end.cast(pa.string()) for end in ends]
        return RawEdges(ends[0], None, ends[1], comments, bad), surplus

    def _edges_of(self, data: bytes, first: int) -> tuple[Ints, Ints] | None:
        """Return (node, neighbour) of whole lines of nodes ``first``, ...; None where something is wrong."""
        text = np.frombuffer(data, np.uint8)
        gap = np.frombuffer(data.translate(TO_NEWLINE), np.uint8) == ord("\n")
        starts = np.flatnonzero(~gap & np.concatenate([[True], gap[:-1]]))
        if not len(starts):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        tokens = _integers(data)
        if tokens is None or len(tokens) != len(starts):
            return None
        node = first + np.searchsorted(np.flatnonzero(text == ord("\n")), starts)
        if self._before or self._step > 1:
            counts = np.bincount(node - first)
            counts = counts[counts > 0]
            place = np.arange(len(node)) - np.repeat(np.cumsum(counts) - counts, counts) - self._before
            if (counts < self._before).any() or ((counts - self._before) % self._step).any():
                return None
            is_neighbour = (place >= 0) & (place % self._step == 0)
            node, tokens = node[is_neighbour], tokens[is_neighbour]
        if len(node) and (node[-1] > self._count or tokens.min() < 1 or tokens.max() > self._count):
            return None
        return node, tokens

    def _check_lines(self, block: LineBlock, first: int) -> tuple[bytes, list[BadRow]]:
        """Return the lines of nodes, with bad ones empty, and what is wrong with these. Raises UserError unless bad lines are
        skipped."""
        kept: list[bytes] = []
        bad: list[BadRow] = []
        for number, line in enumerate(block.data.split(b"\n")[:-1], block.line):
            if line.startswith(COMMENT):
                continue
            node = first + len(kept)
            reason = self._fault(line, node) if node else None
            kept.append(b"" if reason or not node else line)
            if reason:
                content = line[: 4 * MOST_CONTENT].decode("utf-8", "backslashreplace")[:MOST_CONTENT]
                bad.append(BadRow(self.path, number, reason, content))
                if not self._skip:
                    raise UserError(
                        f"{bad[0]}: mend the line, leave such lines out with --on-bad-row skip, or read the file as "
                        "something else with --format"
                    )
        return b"\n".join([*kept, b""]), bad

    def _fault(self, line: bytes, node: int) -> str | None:
        tokens = line.decode("utf-8", "backslashreplace").replace("\t", " ").replace("\r", " ").split(" ")  # as `_edges_of` does
        tokens = [token for token in tokens if token]
        if tokens and node > self._count:
            return f"a line for node {node}, the header announces {self._count} nodes"
        for token in tokens:
            if not PLAIN_INT.fullmatch(token) or not -(2**63) <= integer_of(token) < 2**63:
                return f"{token[:20]!r} is no integer"
        if tokens and (len(tokens) < self._before or (len(tokens) - self._before) % self._step):
            return f"{len(tokens)} numbers where the header's format asks for {self._before} before the neighbours" + (
                ", and pairs of neighbour and weight" if self._step > 1 else ""
            )
        for token in tokens[self._before :: self._step]:
            if not 1 <= int(token) <= self._count:
                return f"neighbour {token} is no id from 1 to {self._count}, which the header announces"
        return None


def _integers(data: bytes) -> Ints | None:
    """Return all numbers of a text; None where it has something else."""
    if b"x" in data or b"X" in data:  # pyarrow would take 0x...
        return None
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(data.translate(TO_NEWLINE)),
            pa.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=["0"]),
            pa.csv.ParseOptions(quote_char=False),
            pa.csv.ConvertOptions(column_types={"0": pa.int64()}, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    integers: Ints = table.column("0").to_numpy()
    return integers


FORMAT = Format(
    lambda opening: opening.of_stream(
        lambda stream: MetisReader(stream, opening.options, opening.block_bytes // 2, opening.threads)
    ),
    named=called(".graph", ".metis"),  # nothing else can tell: a first line of two numbers may also be an edge
    lines=True,
    own_columns=True,
)
