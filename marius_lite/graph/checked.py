"""Compare the files of a dataset with the checksums in its manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from marius_lite.errors import UserError
from marius_lite.remote.dataset import FetchedFiles
from marius_lite.storage.checksum import file_checksum
from marius_lite.storage.flat import open_flat

REDO = "make the dataset again with `marius-lite preprocess`"


class CheckedFiles:
    """Checks files that have no checksums for their parts. Each is compared whole, once, before its first use.

    ``files``: relative path -> (size in bytes, crc32c), as in the manifest of the folder ``dataset``. ``fetched``: what brings
    those files that are not there yet, where the dataset is in object storage.
    """

    def __init__(self, dataset: Path, files: Mapping[str, tuple[int, int]], fetched: FetchedFiles | None = None):
        self._dataset, self.files, self.fetched = dataset, files, fetched
        self._compared: set[str] = set()

    def check(self, path: Path) -> None:
        """Check a file, or every file in a folder. Raises UserError where it has other bytes, or is not in the manifest."""
        inside = path.relative_to(self._dataset).as_posix()
        names = [inside] if inside in self.files else [name for name in self.files if name.startswith(f"{inside}/")]
        if not names:
            raise UserError(f"{path}: does not stand in the manifest: {REDO}")
        self._need(names)
        for name in names:
            if name not in self._compared:
                self._compare(name)

    def has(self, path: Path) -> bool:
        """Whether a file belongs to the dataset."""
        return path.relative_to(self._dataset).as_posix() in self.files

    def need(self, *paths: Path) -> None:
        """Fetch files, or every file in folders, that are not here yet: none, where the dataset is on this machine."""
        if self.fetched:
            inside = [path.relative_to(self._dataset).as_posix() for path in paths]
            whole = [f"{folder}/" for folder in inside if folder not in self.files]
            self._need([*(name for name in inside if name in self.files), *self._in_folders(whole)])

    def need_range(self, array: Path, start: int, stop: int) -> None:
        """Fetch the files with elements [start, stop) of a one-dimensional array that are not here yet."""
        if self.fetched and start < stop:
            found = open_flat(array)
            self.need(*(found.chunks.path(k) for k in range(start // found.chunk, -(-stop // found.chunk))))

    def need_all(self) -> None:
        """Fetch every file that is not here yet."""
        self._need(self.files)

    def _in_folders(self, folders: list[str]) -> Iterable[str]:
        return (name for name in self.files if folders and name.startswith(tuple(folders)))

    def _need(self, names: Iterable[str]) -> None:
        if self.fetched:
            self.fetched.need(names)

    def check_descriptions(self) -> None:
        """Check the ``zarr.json`` of every array. It says how the array's bytes are read."""
        self._need(name for name in self.files if name.endswith("/zarr.json"))
        for name in self.files:
            if name.endswith("/zarr.json") and name not in self._compared:
                self._compare(name)

    def _compare(self, name: str) -> None:
        size, expected = self.files[name]
        if file_checksum(self._dataset / name, size) != expected:
            raise UserError(f"{self._dataset / name}: does not match its checksum, the dataset was changed: {REDO}")
        self._compared.add(name)
