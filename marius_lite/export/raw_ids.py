"""Raw ids in a file beside arrays: integers as .npy, text with one id in each line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError


def array_names(name: str, columns: Iterable[str]) -> list[str]:
    """Return the names of the columns' files: ``nodes`` for the main column, ``nodes_class`` for another."""
    return [name, *(f"{name}_{key}" for key in list(columns)[1:])]


def write_ids(file: Any, ids: pa.Array) -> None:
    if pa.types.is_integer(ids.type):
        file.write(np.ascontiguousarray(ids.to_numpy()).data)
        return
    names = ids.to_pylist()
    if broken := next((name for name in names if "\n" in name or "\r" in name), None):
        raise UserError(
            f"raw id {broken!r}: has a line end, but files of ids have one id in each line: use --format parquet, which keeps it"
        )
    file.write("".join(f"{name}\n" for name in names).encode())


def ids_file(folder: Path, name: str, kind: pa.DataType, rows: int) -> Any:
    if not pa.types.is_integer(kind):
        return open(folder / f"{name}_ids.txt", "wb")
    file = open(folder / f"{name}_ids.npy", "wb")  # noqa: SIM115
    np.lib.format.write_array_header_1_0(file, array_header((rows,), np.dtype(np.int64)))
    return file


def array_header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Any]:
    return {"shape": shape, "fortran_order": False, "descr": np.lib.format.dtype_to_descr(dtype)}
