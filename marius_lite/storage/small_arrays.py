"""Write small arrays as one chunk file; read small tables whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import zarr

from marius_lite.files import read_numbers
from marius_lite.storage.chunks import Chunks
from marius_lite.storage.metadata import PLAIN


def write_array(path: Path, values: npt.NDArray[Any]) -> None:
    """Write a small array as one uncompressed chunk."""
    array = zarr.create_array(
        path, shape=values.shape, chunks=values.shape, dtype=values.dtype, config={"write_empty_chunks": True}, **PLAIN
    )
    array[...] = values


def chunk_of_table(path: Path, size: int) -> Chunks:
    """The single chunk, of ``size`` bytes, of a small array of two dimensions."""
    return Chunks(path, 1, size, rows=True)


def read_table(path: Path, dtype: npt.DTypeLike, shape: tuple[int, int]) -> npt.NDArray[Any]:
    """Read a small array of two dimensions. -1 in ``shape`` stands for as many as there are. Raises RunError or ValueError."""
    return read_numbers(chunk_of_table(path, 0).path(0), dtype).reshape(shape)
