"""Compare the files of a dataset with the checksums in its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from marius_lite.errors import UserError
from marius_lite.storage.checksum import file_checksum

REDO = "make the dataset again with `marius-lite preprocess`"


class CheckedFiles:
    """Checks files that have no checksums for their parts. Each is compared whole, once, before its first use.

    ``files``: relative path -> (size in bytes, crc32c), as in the manifest of the folder ``dataset``.
    """

    def __init__(self, dataset: Path, files: Mapping[str, tuple[int, int]]):
        self._dataset, self._files = dataset, files
        self._compared: set[str] = set()

    def check(self, path: Path) -> None:
        """Check a file, or every file in a folder. Raises UserError where it has other bytes, or is not in the manifest."""
        inside = path.relative_to(self._dataset).as_posix()
        names = [inside] if inside in self._files else [name for name in self._files if name.startswith(f"{inside}/")]
        if not names:
            raise UserError(f"{path}: does not stand in the manifest: {REDO}")
        for name in names:
            if name not in self._compared:
                self._compare(name)

    def check_descriptions(self) -> None:
        """Check the ``zarr.json`` of every array. It says how the array's bytes are read."""
        for name in self._files:
            if name.endswith("/zarr.json") and name not in self._compared:
                self._compare(name)

    def _compare(self, name: str) -> None:
        size, expected = self._files[name]
        if file_checksum(self._dataset / name, size) != expected:
            raise UserError(f"{self._dataset / name}: does not match its checksum, the dataset was changed: {REDO}")
        self._compared.add(name)
