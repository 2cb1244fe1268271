"""Blocks of whole lines, from a stream of bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.raw import Stretch
from marius_lite.preprocess.readers.source import ByteStream

SAMPLE_BYTES = 1 << 20
SAMPLES, SPREAD_BYTES = 64, 1 << 16  # together four times as much as the start
BOM = b"\xef\xbb\xbf"
DATABASES = {"SQLite": (0, b"SQLite format 3\0"), "DuckDB": (8, b"DUCK")}  # where a file has its mark, and the mark
JSON_OBJECT = re.compile(rb'\s*+(?:\[\s*+)?\{\s*+"[^"\n]*+"\s*+:')  # nothing is tried twice: a start may be blank for a MiB
LONGEST_LINE = 16 << 20
MARKED_BYTES = 1 << 20
MOST_COMMENTS, COMMENT_SHARE = 100, 0.02  # of the rows: files begin with a few lines


@dataclass(frozen=True)
class LineBlock:
    """Whole lines of a file. ``line``: the number of the first, counted from 1. ``comments``: lines of comments that were left
    out before it."""

    data: bytes
    line: int
    comments: int = 0


class LineBlocks:
    """A file's lines. ``start``: the bytes that hold the first row; ``sample``: whole lines from the beginning to the end of
    these.

    Of comments and blank lines before that row, only the first MiB is kept: there may be more of them than memory.
    """

    def __init__(self, stream: ByteStream, comment: bytes, block_bytes: int):
        self._stream = stream
        self._comment = comment
        self._block_bytes = block_bytes
        self.path = stream.name
        self._head, self.start = b"", self._stream.read(SAMPLE_BYTES).removeprefix(BOM)
        _refuse_containers(self.path, self.start)
        self._line, self._left_out = 1, 0  # of the start; comments before it that are not in the head
        self._read_bytes = len(self.start)
        self._find_row()
        self._start_raw_bytes = stream.raw_bytes
        self.sample = self._head + (self.start[: self.start.rfind(b"\n") + 1] or self.start)

    def _find_row(self) -> None:
        """Read on until the start has a whole row, or the file ends. A row that is cut would be no header, and no sample."""
        while True:
            end = self.start.rfind(b"\n") + 1
            lines, rest = self.start[:end], self.start[end:]
            if strip_comments(lines, self._comment)[0].strip(b"\r\n ") or not (more := self._stream.read(SAMPLE_BYTES)):
                return
            self._read_bytes += len(more)
            if not self._head:
                self._head = lines
            else:
                self._left_out += strip_comments(lines, self._comment)[1]
            self._line += count_lines(lines)
            self._require_end(rest, self._line)
            self.start = rest + more

    def expected(self) -> int:
        """Estimate how many lines the file has, from its start and from samples of all of it where there are any."""
        samples = [self.sample, *self._stream.samples(SAMPLES, SPREAD_BYTES)]
        lines, size = sum(map(count_lines, samples)), sum(map(len, samples))
        return int(self._stream.size * (self._read_bytes / max(1, self._start_raw_bytes)) * max(1, lines) / max(1, size)) + 1

    def stretches(self, size: int) -> list[Stretch]:
        """Return stretches of about ``size`` bytes of a plain file, each of whole blocks; none of a small file."""
        begin, end, each = self._start_raw_bytes, int(self._stream.size), max(1, size // self._block_bytes) * self._block_bytes
        if not self._stream.plain or begin + each >= end or b"\n" not in self.start:
            return []
        bounds = [0, *range(begin + each, end, each), end]
        return [Stretch(first, last, first, last) for first, last in pairwise(bounds)]

    def blocks(self, header: bool, stretch: Stretch | None = None) -> Iterator[LineBlock]:
        """Read every line once, or those that end in a ``stretch``. The ``header`` becomes an empty line. The last line ends with
        a newline too."""
        if stretch is not None:
            self._stream.end_at(stretch.last)
        if stretch is not None and stretch.first:
            carried, line, left_out = self._stream.begin_at(stretch.first, LONGEST_LINE), stretch.line, 0
        else:
            if self._head:
                yield LineBlock(self._head, 1)
            carried, line, left_out = self._without_header() if header else self.start, self._line, self._left_out
        cut_short = stretch is not None and stretch.last < self._stream.size
        while True:
            fresh = self._stream.read(self._block_bytes)
            cut = fresh.rfind(b"\n") + 1 if fresh else 0
            if fresh and not cut:
                carried += fresh
                self._require_end(carried, line)
                continue
            if cut_short and not fresh:
                return  # the line that has begun ends in the next stretch
            data = b"".join((carried, memoryview(fresh)[:cut]))
            if not fresh and data and not data.endswith(b"\n"):
                data += b"\n"
            if data:
                yield LineBlock(data, line, left_out)
                line, left_out = line + count_lines(data), 0
            if not fresh:
                return
            carried = fresh[cut:]

    def _require_end(self, begun: bytes, line: int) -> None:
        if len(begun) > LONGEST_LINE:
            raise UserError(
                f"{self.path}:{line}: no end of line within {LONGEST_LINE} bytes: this is no text with one edge per line"
            )

    def _without_header(self) -> bytes:
        """Return the start. Its first row, and blank lines before it, become empty lines, so that line numbers stay. Comments
        stay."""
        at, line, kept = 0, 1, b""
        while True:
            end = self.start.find(b"\n", at) + 1 or len(self.start)
            row = self.start[at:end]
            if self._comment and row.startswith(self._comment):
                kept += row
            elif row.strip(b" \r\n"):
                return kept + b"\n" * (line - kept.count(b"\n")) + self.start[end:]
            at, line = end, line + 1


def whole_lines(stream: ByteStream, block_bytes: int, what: str) -> Iterator[bytes]:
    """Read blocks of whole lines, each without the newline at its end. Raises UserError for a line that is too long: the file is
    no ``what``."""
    carried = stream.read(len(BOM)).removeprefix(BOM)
    while fresh := stream.read(block_bytes):
        lines, end, rest = (carried + fresh).rpartition(b"\n")
        if end:
            yield lines
        elif len(rest) > LONGEST_LINE:
            raise UserError(f"{stream.name}: no end of line within {LONGEST_LINE} bytes: this is no {what}")
        carried = rest
    if carried:
        yield carried.removesuffix(b"\n")


def count_lines(data: bytes) -> int:
    """Count newlines. This is what ``data.count`` does, several times as fast."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def comment_warnings(comments: int, rows: int, what: str) -> list[str]:
    """Return a line where there are more comments than usual in a file of so many rows. ``what``: the word for what rows are."""
    if comments < max(MOST_COMMENTS, COMMENT_SHARE * rows):
        return []
    return [
        f"{comments:,} lines are comments, {rows:,} are {what}: if those are {what} too, give --comment another mark, or '' "
        "for none"
    ]


def strip_comments(data: bytes, comment: bytes) -> tuple[bytes, int]:
    """Return ``data`` without the lines that start with ``comment``, and how many there were."""
    if not comment or comment not in data:  # a search for one character is fast
        return data, 0
    if not data.startswith(comment) and b"\n" + comment not in data:
        return data, 0
    kept, count, at = [], 0, 0
    while at < len(data):  # whole lines at a time: marking each byte takes several times as much memory
        end = data.rfind(b"\n", at, at + MARKED_BYTES) + 1 or data.find(b"\n", at) + 1 or len(data)
        part, left_out = _without_marked(np.frombuffer(data, np.uint8, end - at, at), np.frombuffer(comment, np.uint8))
        kept.append(part)
        at, count = end, count + left_out
    return b"".join(kept), count


def _without_marked(data: npt.NDArray[np.uint8], comment: npt.NDArray[np.uint8]) -> tuple[bytes, int]:
    """Return whole lines without those that start with ``comment``, and how many there were."""
    ends = data == ord("\n")
    starts = np.concatenate([[0], np.flatnonzero(ends[:-1]) + 1])
    marked = np.ones(len(starts), bool)
    for place, byte in enumerate(comment):
        at = starts + place
        marked &= (at < len(data)) & (data[np.minimum(at, len(data) - 1)] == byte)
    lengths = np.diff(starts, append=len(data))
    return data[np.repeat(~marked, lengths)].tobytes(), int(np.count_nonzero(marked))


def _refuse_containers(path: str, start: bytes) -> None:
    """Refuse files of other formats, which would be read as odd text."""
    for name, (at, mark) in DATABASES.items():
        if start[at : at + len(mark)] == mark:
            raise UserError(
                f"{path}: a {name} database: give --database {name.lower()}:///{path}, and a query in the place of the file"
            )
    if JSON_OBJECT.match(start):
        raise UserError(
            f"{path}:1: JSON, which is not read: write columns with a delimiter between them, or Parquet, for example with "
            "pandas.read_json and to_csv"
        )
    if start[257:262] == b"ustar":
        raise UserError(f"{path}: a tar archive: call it .tar, .tar.gz or the like, or unpack it (tar -xf)")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{path}:1: UTF-16 text, not UTF-8: convert it, for example with iconv -f utf-16 -t utf-8")
