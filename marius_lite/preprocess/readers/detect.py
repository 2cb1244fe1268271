"""Which format a file is in: what it says itself decides, then its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from marius_lite.config.machine import memory_limit
from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.folders import nodes_said
from marius_lite.preprocess.readers.gr import GR, is_gr
from marius_lite.preprocess.readers.lines import BOM
from marius_lite.preprocess.readers.marius_bin import MariusReader, is_marius_bin
from marius_lite.preprocess.readers.matrix_market import MATRIX_MARKET, is_matrix_market
from marius_lite.preprocess.readers.metis import MetisReader, is_metis
from marius_lite.preprocess.readers.npy import NpyReader
from marius_lite.preprocess.readers.ntriples import NTRIPLES, is_ntriples
from marius_lite.preprocess.readers.raw import Reader
from marius_lite.preprocess.readers.shape import Layout
from marius_lite.preprocess.readers.sniff import DELIMITED
from marius_lite.preprocess.readers.source import ByteStream, InputFile, Progress, magic_of
from marius_lite.preprocess.readers.sparse import SparseReader, sparse_parts
from marius_lite.preprocess.readers.tables import ArrowReader, ParquetReader
from marius_lite.preprocess.readers.text import TextReader
from marius_lite.preprocess.readers.torch_save import TorchReader, is_torch_save

HEAD_BYTES, LONGEST_LINE = 1 << 16, 1 << 20
ONLY_COMMENTS = re.compile(rb"(?:(?:[ \t\r]*|#.*|c(?:[ \t].*)?)\n)*(?:#.*|c(?:[ \t].*)?)?")  # of N-Triples and .gr
LAYOUTS: dict[str, Layout] = {"text": DELIMITED, "gr": GR, "mtx": MATRIX_MARKET, "nt": NTRIPLES}
TELLING: dict[str, Callable[[bytes], bool]] = {"gr": is_gr, "mtx": is_matrix_market, "nt": is_ntriples}
TABLES = {"parquet": ParquetReader, "arrow": ArrowReader}
CONTAINERS = ("zip", "npy", *TABLES)
TEXTS = {*LAYOUTS, "metis"}
LEAST_ID_BYTES = 8  # of a node in the dictionary
MANY_NODES, NODES_AN_EDGE = 1 << 24, 10_000  # more are no graph, but a damaged number
VALUED = {"text", "parquet", "arrow", "npy"}


def format_of(file: InputFile) -> str:
    """The --format that ``file`` is in, by its first bytes. Raises UserError for a container of other files."""
    if is_marius_bin(file.path):
        return "marius"
    if file.member is None and (found := magic_of(file.path)) in CONTAINERS:
        return found if found != "zip" else "torch" if is_torch_save(file.path) else "npy"
    with closing(ByteStream(file.path, member=file.member)) as stream:
        if stream.compression in CONTAINERS:
            raise UserError(f"{file.name}: a {stream.compression} file inside an archive: unpack it and name the file")
        start = stream.read(HEAD_BYTES).removeprefix(BOM)
        heads = start, _past_comments(stream, start)
    told = (name for head in heads for name, tells in TELLING.items() if tells(head))
    return next(told, "metis" if is_metis(Path(file.member or file.path).name) else "text")


def _past_comments(stream: ByteStream, head: bytes) -> bytes:
    """What a file holds from where a row is in sight: there may be any number of comments before."""
    while len(head) < LONGEST_LINE and _only_comments(head) and (more := stream.read(HEAD_BYTES)):
        head = head[head.rfind(b"\n") + 1:] + more
    return head


def _only_comments(lines: bytes) -> bool:
    return not lines.strip(b" \t\r\n") or bool(ONLY_COMMENTS.fullmatch(lines))  # blank ones are told ten times as fast


def open_reader(file: InputFile, options: Options, block_bytes: int, threads: int, progress: Progress) -> Reader:
    """The reader of one file. Raises UserError for a file that is not what --format says, or has more nodes than fit memory."""
    reader = _open(file, options, block_bytes, threads, progress)
    nodes = 0 if reader.nodes is None else len(reader.nodes)
    if nodes > MANY_NODES and nodes > NODES_AN_EDGE * (edges := reader.rows_expected()):
        reader.close()
        raise UserError(f"{file.name}: says that it has {nodes:,} nodes, with {edges:,} edges: is the number right? nodes "
                        "without edges need not be announced: write the edges as text")
    if nodes * LEAST_ID_BYTES > memory_limit():
        reader.close()
        raise UserError(f"{file.name}: says that it has {nodes:,} nodes, whose dictionary would take more than the "
                        "memory of this machine: is the number right?")
    return reader


def _open(file: InputFile, options: Options, block_bytes: int, threads: int, progress: Progress) -> Reader:
    path, found = file.path, format_of(file)
    format = found if options.format == "auto" else options.format
    if format != found and not {format, found} <= TEXTS:
        raise UserError(
            f"{path}: not a {format} file (it looks like {found}): leave out --format, or name the right file"
        )
    if format in TEXTS - {"text"} and options.columns is not None:
        raise UserError(f"{path}: --columns {','.join(options.columns)}: a {format} file says itself what its columns are: leave "
                        "out --columns, or force --format text")
    if format not in VALUED and options.values:
        raise UserError(f"{file.name}: weights and times are not read from a {format} file: leave out --edge-weight and "
                        "--timestamp, or write the edges as text, Parquet or arrays")
    block_rows = max(1 << 12, block_bytes // 16)
    if format in TABLES:
        return TABLES[format](path, options, block_rows, progress)
    if format == "marius":
        return MariusReader(file, options, block_rows, progress)
    if format == "torch":
        return TorchReader(file, options, block_rows, progress)
    if format == "npy":
        if magic_of(path) == "zip" and (parts := sparse_parts(file.path, file.key)):
            return SparseReader(file, parts, options, block_rows, progress)
        return NpyReader(file, options, block_rows, progress, nodes_said(path))
    stream = ByteStream(path, progress, file.member)
    try:
        if format == "metis":
            return MetisReader(stream, options, block_bytes // 2, threads)
        return TextReader(stream, options, block_bytes, threads, LAYOUTS[format], nodes_said(path) if format == "text" else None)
    except BaseException:
        stream.close()
        raise
