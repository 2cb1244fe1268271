"""Compare the files of a dataset with the checksums in its manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.storage.engine import read_range

REDO = "make the dataset again with `marius-lite preprocess`"
CHECK_BLOCK = 16 << 20


def file_checksum(path: Path, size: int, progress: Callable[[int], object] = lambda _: None) -> int:
    """crc32c of a file's first ``size`` bytes, read past the page cache. ``progress`` is told how many were read."""
    checksum = 0
    block = np.empty(min(size, CHECK_BLOCK), np.uint8)
    for start in range(0, size, CHECK_BLOCK):
        part = block[: min(CHECK_BLOCK, size - start)]
        read_range(path, start, part)
        checksum = crc32c(part, checksum)
        progress(len(part))
    return checksum


class CheckedFiles:
    """Compares what has no checksums of its own by which parts of it could be told: each file once, before its first use.

    ``files``: relative path -> (size in bytes, crc32c), as in the manifest of the folder ``dataset``.
    """

    def __init__(self, dataset: Path, files: Mapping[str, tuple[int, int]]):
        self._dataset, self._files = dataset, files
        self._compared: set[str] = set()

    def check(self, path: Path) -> None:
        """Check a file, or every file below a folder. Raises UserError where preprocess wrote other bytes or none."""
        inside = path.relative_to(self._dataset).as_posix()
        names = [inside] if inside in self._files else [name for name in self._files if name.startswith(f"{inside}/")]
        if not names:
            raise UserError(f"{path}: does not stand in the manifest: {REDO}")
        for name in names:
            if name not in self._compared:
                self._compare(name)

    def check_descriptions(self) -> None:
        """Check the ``zarr.json`` of every array, which says how its bytes are to be read."""
        for name in self._files:
            if name.endswith("/zarr.json") and name not in self._compared:
                self._compare(name)

    def _compare(self, name: str) -> None:
        size, expected = self._files[name]
        if file_checksum(self._dataset / name, size) != expected:
            raise UserError(f"{self._dataset / name}: does not match its checksum, the dataset was changed: {REDO}")
        self._compared.add(name)
