"""Make files that `preprocess` reads of those that it does not read. Each converter takes a bounded memory, whatever the size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite import files
from marius_lite.errors import UserError
from marius_lite.fetch.pickled import pickled_arrays
from marius_lite.fetch.recipe import ConversionSection
from marius_lite.log import log
from marius_lite.storage.npy_file import write_npy
from marius_lite.temporary import remove_scratch, scratch

ROWS = 1 << 18
"""Rows that are written at once."""
BLOCK_BYTES = 1 << 24
"""Bytes of text that are parsed at once."""
FIRST_LINE = 1 << 20
"""Bytes in which the first line of a text ends."""
SCRATCH = ".marius-arrays-"
Blocks = Iterator[npt.NDArray[Any]]


def convert(conversion: ConversionSection, sources: list[Path], target: Path) -> None:
    """Write the file ``target`` (.npy) of a recipe's conversion. It appears whole or not at all; where it is there, it stays.

    Raises UserError for a source that is not what the recipe says.
    """
    if target.exists():
        return
    log.info(f"making {target.name}{' of ' + ', '.join(path.name for path in sources) if sources else ''}")
    files.make_folder(target.parent)
    with ExitStack() as stack:
        rows, blocks = CONVERTERS[conversion.by](conversion, sources, stack)
        write_npy(target, blocks, rows)


def _pickled_columns(conversion: ConversionSection, sources: list[Path], stack: ExitStack) -> tuple[int | None, Blocks]:
    """The arrays ``keys`` of a dictionary that torch.save wrote, side by side."""
    remove_scratch(sources[0].parent, SCRATCH)
    folder = stack.enter_context(scratch(sources[0].parent, SCRATCH))
    arrays = stack.enter_context(pickled_arrays(sources[0], folder))
    if missing := [key for key in conversion.keys if key not in arrays]:
        raise UserError(f"{sources[0]}: has no array {missing[0]}: there are {', '.join(arrays)}")
    return _side_by_side(sources[0], [arrays[key] for key in conversion.keys])


def _array_columns(conversion: ConversionSection, sources: list[Path], stack: ExitStack) -> tuple[int | None, Blocks]:
    """Arrays of .npy files, side by side."""
    arrays = []
    for path in sources:
        with files.reading(path):
            arrays.append(np.load(path, mmap_mode="r", allow_pickle=False))
    return _side_by_side(sources[0], arrays)


def _side_by_side(path: Path, arrays: list[npt.NDArray[Any]]) -> tuple[int | None, Blocks]:
    """Return the rows of whole numbers of arrays of shape (rows,) or (rows, columns)."""
    rows = {len(array) for array in arrays if 1 <= array.ndim <= 2}
    if len(rows) != 1 or any(array.ndim not in (1, 2) or array.dtype.kind not in "iu" for array in arrays):
        found = ", ".join(f"{array.dtype}{array.shape}" for array in arrays)
        raise UserError(f"{path}: arrays of whole numbers with equally many rows are needed, found {found}")
    count = rows.pop()

    def blocks() -> Blocks:
        for first in range(0, count, ROWS):
            parts = [array[first : first + ROWS] for array in arrays]
            yield np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1).astype(np.int64)

    return count, blocks()


def _text_matrix(conversion: ConversionSection, sources: list[Path], stack: ExitStack) -> tuple[int | None, Blocks]:
    """Rows of numbers with commas between them, without titles, perhaps compressed: float32."""
    import pyarrow as pa
    from pyarrow import csv

    def blocks() -> Blocks:
        path = str(sources[0])
        with files.reading(path):
            with pa.input_stream(path) as stream:
                width = 1 + stream.read(FIRST_LINE).partition(b"\n")[0].count(b",")
            names = [f"f{column}" for column in range(width)]
            read = csv.ReadOptions(column_names=names, block_size=BLOCK_BYTES, use_threads=False)
            kinds = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float32()))
            stream = stack.enter_context(pa.input_stream(path))
            for batch in stack.enter_context(csv.open_csv(stream, read_options=read, convert_options=kinds)):
                yield np.stack([column.to_numpy(zero_copy_only=False) for column in batch.columns], axis=1)

    return None, blocks()


def _ranges(conversion: ConversionSection, sources: list[Path], stack: ExitStack) -> tuple[int | None, Blocks]:
    """The whole numbers from one to another, the last not among them: ids of nodes that a split has one after the other."""
    if conversion.range is None:
        raise UserError(f"{conversion.to}: `ranges` needs `range: [FIRST, END]`")
    first, end = conversion.range
    return end - first, (np.arange(low, min(low + ROWS, end), dtype=np.int64) for low in range(first, end, ROWS))


CONVERTERS: dict[str, Callable[[ConversionSection, list[Path], ExitStack], tuple[int | None, Blocks]]] = {
    "pickled_columns": _pickled_columns,
    "array_columns": _array_columns,
    "text_matrix": _text_matrix,
    "ranges": _ranges,
}
"""How each kind of conversion gives the number of rows (None: not known before) and the rows, block after block."""
