"""Which format a file is in. Its content decides, then its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from marius_lite.config.machine import memory_limit
from marius_lite.errors import UserError
from marius_lite.places import at_place
from marius_lite.preprocess.formats import AUTO, FORMATS
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.bipartite import BipartiteReader
from marius_lite.preprocess.readers.format import Format, Opening
from marius_lite.preprocess.readers.lines import BOM
from marius_lite.preprocess.readers.raw import Reader, Stretch
from marius_lite.preprocess.readers.source import ByteStream, InputFile, Progress, magic_of

HEAD_BYTES, LONGEST_LINE = 1 << 16, 1 << 20
ONLY_COMMENTS = re.compile(rb"(?:(?:[ \t\r]*|#.*|c(?:[ \t].*)?)\n)*(?:#.*|c(?:[ \t].*)?)?")  # of N-Triples and .gr
OTHERWISE = "text"
LEAST_ID_BYTES = 8  # of memory that a node takes in the dictionary, at least
MANY_NODES, NODES_AN_EDGE = 1 << 24, 10_000  # more of both show that the number is damaged
Formats = dict[str, Format]


def formats() -> Formats:
    """Return the description of every format, by its name."""
    return {name: _described(place) for name, place in FORMATS.items()}


def _described(place: str) -> Format:
    description: Format = at_place(place)
    return description


def format_of(file: InputFile, known: Formats) -> str:
    """Return the format, as --format names it, that ``file`` is in. Raises UserError for a container inside an archive."""

    def first(tells: Callable[[Format], bool]) -> str | None:
        return next((name for name, one in known.items() if tells(one)), None)

    if (name := first(lambda one: one.beside(file.path))) is not None:
        return name
    if file.member is None:
        magic = magic_of(file.path)
        if (name := first(lambda one: magic in one.magic and one.holds(file.path))) is not None:
            return name
    heads = _heads(file, {magic for one in known.values() for magic in one.magic})
    called = Path(file.member or file.path).name
    return first(lambda one: any(map(one.begins, heads))) or first(lambda one: one.named(called)) or OTHERWISE


def _heads(file: InputFile, containers: set[str]) -> tuple[bytes, bytes]:
    """Read a file of text from its beginning, and from shortly before its first row."""
    with closing(ByteStream(file.path, member=file.member)) as stream:
        if stream.compression in containers:
            raise UserError(f"{file.name}: a {stream.compression} file inside an archive: unpack it and name the file")
        start = stream.read(HEAD_BYTES).removeprefix(BOM)
        return start, _past_comments(stream, start)


def _past_comments(stream: ByteStream, head: bytes) -> bytes:
    """Read on until the bytes hold the first row. There may be any number of comments before it."""
    while len(head) < LONGEST_LINE and _only_comments(head) and (more := stream.read(HEAD_BYTES)):
        head = head[head.rfind(b"\n") + 1 :] + more
    return head


def _only_comments(lines: bytes) -> bool:
    return not lines.strip(b" \t\r\n") or bool(ONLY_COMMENTS.fullmatch(lines))  # blank lines are recognized ten times as fast so


def open_reader(
    file: InputFile, options: Options, block_bytes: int, threads: int, progress: Progress, stretch: Stretch | None = None
) -> Reader:
    """Return the reader of one file, or of a ``stretch`` of it. Raises UserError for a file that is not what --format says, or
    that announces more nodes than fit in memory."""
    reader = _open(Opening(file, options, block_bytes, threads, progress, stretch))
    if options.bipartite is not None:
        reader = BipartiteReader(reader, options.bipartite, file.name)
    nodes = 0 if reader.nodes is None else len(reader.nodes)
    if nodes > MANY_NODES and nodes > NODES_AN_EDGE * (edges := reader.rows_expected()):
        reader.close()
        raise UserError(
            f"{file.name}: says that it has {nodes:,} nodes, with {edges:,} edges: is the number right? nodes "
            "without edges need not be announced: write the edges as text"
        )
    if nodes * LEAST_ID_BYTES > memory_limit():
        reader.close()
        raise UserError(
            f"{file.name}: says that it has {nodes:,} nodes, whose dictionary would take more than the "
            "memory of this machine: is the number right?"
        )
    return reader


def _open(opening: Opening) -> Reader:
    file, options, known = opening.file, opening.options, formats()
    detected = format_of(file, known)
    name = detected if options.format == AUTO else options.format
    format = known[name]
    if name != detected and not (format.lines and known[detected].lines):
        raise UserError(f"{file.path}: not a {name} file (it looks like {detected}): leave out --format, or name the right file")
    if format.own_columns and options.columns is not None:
        raise UserError(
            f"{file.path}: --columns {','.join(options.columns)}: a {name} file says itself what its columns are: "
            "leave out --columns" + (", or force --format text" if format.lines else "")
        )
    if not format.values and options.values and options.needs_values:
        raise UserError(
            f"{file.name}: weights and times are not read from a {name} file: leave out --edge-weight and "
            "--timestamp, or write the edges as text, Parquet or arrays"
        )
    return format.open(opening)
