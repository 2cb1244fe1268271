"""Rows that Python programs have in memory: Arrow tables and streams, frames, arrays. They are written to disk in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.preprocess.inputs.parquet import write_parquet

ARRAY_BYTES = 4 << 20  # of an array, written at once
KNOWN = (
    "a file's name, a query, an Arrow table or stream of record batches, a polars or pandas frame, a NumPy array or a tensor, "
    "a torch_geometric Data or HeteroData"
)
Array = npt.NDArray[Any]


class Frame:
    """Rows with named columns. ``source``: whatever Arrow can read as a stream, once."""

    def __init__(self, source: Any):
        self._source = source

    def write(self, path: Path, group_bytes: int) -> int:
        """Write a Parquet file. Returns the number of rows."""
        with pa.RecordBatchReader.from_stream(self._source) as batches:
            return write_parquet(batches, path, group_bytes)


class Arrays:
    """Arrays of the same width and type, one after another: those of a HeteroData lie in several."""

    def __init__(self, parts: Sequence[Array]):
        self._parts = parts

    def write(self, path: Path, group_bytes: int) -> int:
        """Write a .npy file, row after row. Returns the number of rows."""
        first, rows = self._parts[0], sum(len(part) for part in self._parts)
        dtype = np.result_type(*(part.dtype for part in self._parts))
        header = {"shape": (rows, *first.shape[1:]), "fortran_order": False, "descr": np.lib.format.dtype_to_descr(dtype)}
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for part in self._parts:
                step = max(1, ARRAY_BYTES // max(1, part[:1].nbytes))
                for at in range(0, len(part), step):
                    file.write(np.ascontiguousarray(part[at : at + step], dtype).data)
        return rows


def frame_of(value: Any, name: str) -> Frame | Arrays:
    """Return how a value is put on disk. Raises UserError for one that is neither a table nor an array."""
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return Frame(pa.table({name: value}))
    if hasattr(value, "to_frame"):  # a series of polars or pandas
        return frame_of(value.to_frame(), name)
    if hasattr(value, "__arrow_c_stream__"):  # Arrow's tables and readers, frames of polars and pandas, results of duckdb
        return Frame(value)
    if isinstance(value, pa.RecordBatch):
        return Frame(pa.Table.from_batches([value]))
    if not isinstance(value, (list, tuple)) and not hasattr(value, "__array__"):
        raise UserError(f"{name}: a {type(value).__name__}: give {KNOWN}")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"{name}: no array ({' '.join(str(error).split())}): give {KNOWN}") from None
    if array.ndim and array.dtype.kind in "biuf":
        return Arrays([array])
    if array.ndim == 1 and array.dtype.kind in "UO":
        return Frame(pa.table({name: pa.array(array)}))
    raise UserError(f"{name}: an array of {array.dtype}, shape {array.shape}: give {KNOWN}")
