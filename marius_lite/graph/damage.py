"""Find and report damage: where a dataset differs from its manifest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.checked import REDO
from marius_lite.graph.folder import DatasetFolder
from marius_lite.storage.chunks import Chunks
from marius_lite.storage.flat import open_flat

Progress = Callable[[int], object]
"""It is called with the number of bytes that were read."""


def damaged(path: Path, what: str) -> UserError:
    """Return an error of one line: which file, what is wrong with it, and what to do."""
    return UserError(f"{path}: {what}: {REDO}")


def first(wrong: npt.NDArray[np.bool_]) -> int | None:
    """Return the first place (row) of ``wrong`` that is set, or None."""
    rows = wrong if wrong.ndim == 1 else wrong.any(1)
    return int(rows.argmax()) if rows.any() else None


def check_array(dataset: DatasetFolder, path: Path, length: int, dtype: npt.DTypeLike | None, chunk: int | None = None) -> None:
    """Check that ``path`` is a one-dimensional array of ``length`` entries, and that the manifest lists all its chunks.

    Raises UserError. ``dtype`` None: any. ``chunk``: how many entries a chunk must have; None: any number.
    """
    try:
        found = open_flat(path)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise damaged(path / "zarr.json", f"describes no array: {error!r}") from error
    wanted: np.dtype[Any] = np.dtype(dtype) if dtype is not None else found.dtype
    if (found.length, found.dtype) != (length, wanted):
        raise damaged(path, f"{found.length:,} entries of {found.dtype}, {length:,} of {wanted} belong there")
    if chunk is not None and found.chunk != chunk:
        raise damaged(path, f"chunks of {found.chunk:,} entries, {chunk:,} make a partition")
    for k in range(found.chunks.count):
        check_chunk(dataset, found.chunks, k)


def check_chunk(dataset: DatasetFolder, chunks: Chunks, k: int) -> None:
    """Check that the manifest lists chunk k with as many bytes as it should have. Raises UserError."""
    file, size = chunks.path(k), chunks.size
    found = dataset.manifest.files.get(file.relative_to(dataset.path).as_posix())
    if found is None:
        raise damaged(file, "does not stand in the manifest")
    if found[0] != size:
        raise damaged(file, f"{found[0]:,} bytes, {size:,} belong there")
