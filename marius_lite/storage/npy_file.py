"""Write an .npy array block after block, without holding it in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite import files
from marius_lite.errors import UserError

HEADER_BYTES = 128


def write_npy(target: Path, blocks: Iterable[npt.NDArray[Any]], rows: int | None = None) -> int:
    """Write blocks of rows, all of one type and width, as one array; return how many rows there are.

    ``rows``: how many there must be, where it is known before. The header is written last, once the number of rows is known. The
    file appears whole or not at all.
    """
    beside = target.with_name(target.name + ".tmp")
    done, shape, dtype = 0, (), np.dtype(np.int64)
    with files.disk_errors(target), open(beside, "wb") as out:
        out.write(bytes(HEADER_BYTES))
        for block in blocks:
            done, shape, dtype = done + len(block), block.shape[1:], block.dtype
            out.write(np.ascontiguousarray(block).data)
        if rows is not None and done != rows:
            raise UserError(f"{target.name}: {done:,} rows where {rows:,} were announced")
        out.seek(0)
        out.write(_header({"descr": dtype.str, "fortran_order": False, "shape": (done, *shape)}))
        out.flush()
        os.fsync(out.fileno())
    files.publish(beside, target)
    return done


def _header(described: dict[str, Any]) -> bytes:
    """Return the header of an .npy file (format 1.0), of HEADER_BYTES bytes."""
    text = repr(described).encode()
    length = HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1) + b"\n"
