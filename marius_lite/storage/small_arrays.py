"""Write small arrays as one chunk file; read small tables whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.files import read_numbers
from marius_lite.storage.chunks import Chunks, chunk_path
from marius_lite.storage.metadata import describe_array


def write_array(path: Path, values: npt.NDArray[Any]) -> None:
    """Write a small array as one uncompressed chunk."""
    describe_array(path, values.dtype, values.shape, values.shape)
    file = chunk_path(path, 0, rows=values.ndim == 2)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(np.ascontiguousarray(values).tobytes())


def chunk_of_table(path: Path, size: int) -> Chunks:
    """The single chunk, of ``size`` bytes, of a small array of two dimensions."""
    return Chunks(path, 1, size, rows=True)


def read_table(path: Path, dtype: npt.DTypeLike, shape: tuple[int, int]) -> npt.NDArray[Any]:
    """Read a small array of two dimensions. -1 in ``shape`` stands for as many as there are. Raises RunError or ValueError."""
    return read_numbers(chunk_of_table(path, 0).path(0), dtype).reshape(shape)
