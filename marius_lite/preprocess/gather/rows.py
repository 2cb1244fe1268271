"""How many rows the input has: an estimate before it is read, and a count."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pyarrow.compute as pc

from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.detect import open_reader
from marius_lite.preprocess.readers.source import InputFile
from marius_lite.progress_bar import progress_bar

BLOCK_BYTES = 1 << 20


def rows_expected(inputs: Sequence[InputFile], options: Options) -> int:
    """Estimate the rows of all files, from sizes and samples. Checks each file's shape on the way."""
    total = 0
    for file in inputs:
        with closing(open_reader(file, options, BLOCK_BYTES, 1, lambda _: None)) as reader:
            total += reader.rows_expected()
    return total


def rows_counted(inputs: Sequence[InputFile], options: Options, threads: int) -> int:
    """Count the edges that will be kept, by reading all of them. Raises UserError for bad rows, as preprocess does."""
    total, kind = 0, options.id_kind
    size = sum(file.path.stat().st_size for file in inputs)
    with progress_bar("count", "B", size) as bar:
        for file in inputs:
            with closing(open_reader(file, options, BLOCK_BYTES, threads, bar.update)) as reader:
                kind = kind or reader.kind
                for edges in reader.read(kind or "str"):
                    total += len(edges.src)
                    if options.drop_self_loops:
                        total -= pc.sum(pc.equal(edges.src, edges.dst)).as_py() or 0
    return total
