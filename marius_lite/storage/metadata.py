"""Write the metadata of groups and arrays, by Zarr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import zarr

PLAIN: dict[str, Any] = {"compressors": None, "filters": None, "fill_value": 0, "zarr_format": 3}


def create_group(path: Path) -> None:
    """Make an empty Zarr v3 group at ``path``. Raises OSError."""
    zarr.create_group(path, zarr_format=3)


def describe_column(path: Path, dtype: npt.DTypeLike, length: int, chunk: int) -> None:
    """Write the metadata of a one-dimensional array of ``length`` elements, ``chunk`` in each file. Raises OSError."""
    zarr.create_array(path, shape=(length,), chunks=(chunk,), dtype=dtype, **PLAIN)
