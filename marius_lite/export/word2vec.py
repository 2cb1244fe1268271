"""The text format of word2vec, which gensim and many others read: an id and its numbers in each line, parted by spaces."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv

from marius_lite.errors import UserError
from marius_lite.export.format import ExportFormat, Names

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks

NUMBER_BYTES = 13
ROWS_AT_ONCE = 1 << 14
PLAIN = csv.WriteOptions(include_header=False, delimiter=" ")
SPACE = re.compile(r"\s")
ONLY_RELATION = "relation"
"""What the only relation of a graph is called here where the graph gives it no name."""


def write_word2vec(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write one file. Numbers have as many digits as give the same float32 again."""
    with (folder / f"{name}.txt").open("wb") as file:
        begun = False
        for ids, columns in blocks:
            if len(columns) > 1:
                raise UserError("--format word2vec: holds vectors, not the classes of nodes: use another format, such as parquet")
            (vectors,) = columns.values()
            if not begun:
                file.write(f"{rows} {vectors.shape[1]}\n".encode())
                begun = True
            for first in range(0, len(vectors), ROWS_AT_ONCE):
                span = slice(first, first + ROWS_AT_ONCE)
                words = [ONLY_RELATION] if name != "nodes" and ids.to_pylist() == [""] else _words(ids[span])
                for raw, numbers in zip(words, _lines(vectors[span]), strict=True):
                    file.write(b"%s %s\n" % (raw.encode(), numbers))


def _words(ids: pa.Array) -> list[str]:
    words = [str(raw) for raw in ids.to_pylist()]
    if broken := [word for word in words if SPACE.search(word) or not word]:
        what = "has white space, which parts numbers in this format" if broken[0] else "is empty, which this format cannot say"
        raise UserError(f"raw id {broken[0]!r}: {what}: use --format parquet, which keeps it")
    return words


def _lines(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> list[bytes]:
    """Return the numbers of each row as text."""
    sink = pa.BufferOutputStream()
    csv.write_csv(pa.table({str(at): column for at, column in enumerate(vectors.T)}), sink, PLAIN)
    text: bytes = sink.getvalue().to_pybytes()
    return text.splitlines()


FORMAT = ExportFormat(write_word2vec, number_bytes=NUMBER_BYTES)
