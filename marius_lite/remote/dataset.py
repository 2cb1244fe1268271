"""The files of a dataset in object storage: fetched when they are first needed, compared with the manifest when they arrive.

They lie there as on a disk, so any copy of a dataset's folder is one. They are kept on this machine, in a folder for each
fingerprint, as long as the bound of what is kept allows.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from marius_lite import files
from marius_lite._native import crc32c
from marius_lite.errors import RunError, UserError
from marius_lite.log import log
from marius_lite.progress_bar import progress_bar
from marius_lite.remote.address import BucketAddress, address_of, cache_folder
from marius_lite.remote.failures import Damaged
from marius_lite.remote.pool import Pool
from marius_lite.remote.store import ObjectStore, Taken
from marius_lite.remote.tree import MOST_SIZE, require_inside
from marius_lite.sizes import format_bytes
from marius_lite.storage.checksum import file_checksum

ROOT, REPORT = "zarr.json", "report.json"
ORIGIN, LOCK = ".origin.json", ".fetch.lock"
DATASETS = "datasets"
"""The folder, among what is kept on this machine, of the files of datasets."""
MOST_ROOT = 1 << 28
"""Bytes of the largest manifest that is read."""
Sizes = Mapping[str, tuple[int, int]]
Progress = Callable[[int], object]


class FetchedFiles:
    """The files of the dataset at ``address``, as far as they are in ``folder``. ``sizes``: (size, crc32c) of each.

    Raises UserError for a manifest that names files outside its folder, or of absurd sizes.
    """

    def __init__(self, address: BucketAddress, folder: Path, sizes: Sizes):
        self.address, self._folder, self._sizes = address, folder, sizes
        self._here = set[str]()
        self._guard = threading.Lock()
        try:
            for name, (size, _) in sizes.items():
                require_inside(name)
                if any(part.startswith(".") for part in name.split("/")) or not 0 <= size <= MOST_SIZE:
                    raise ValueError(f"{name!r} of {size} bytes")
        except ValueError as error:
            raise UserError(f"{address}/{ROOT}: refused, no dataset has such a file: {error}") from None
        self._held = files.hold(folder)  # as long as this process lives: nobody makes room by removing it

    def __reduce__(self) -> tuple[Any, ...]:
        return FetchedFiles, (self.address, self._folder, self._sizes)

    def __del__(self) -> None:
        if hasattr(self, "_held"):
            os.close(self._held)

    def need(self, names: Iterable[str]) -> None:
        """Fetch files that are not here. Raises UserError where one is not there, RunError where it stays damaged."""
        if missing := [name for name in names if name not in self._here]:
            with self._guard:
                self._fetch(missing)

    def require_room(self, most: int | None) -> None:
        """Make room for all files within a bound of ``most`` bytes: datasets that nobody uses now are removed, the oldest first.

        Raises UserError where the files of this one alone are more. None: there is no bound.
        """
        if most is None:
            return
        needed = sum(size for size, _ in self._sizes.values())
        if needed > most:
            raise UserError(
                f"storage.cache is {format_bytes(most)}, the files of {self.address} take {format_bytes(needed)}: give that "
                f"much, or auto; they are kept in {cache_folder()}"
            )
        _make_room(self._folder, most - needed)

    def _fetch(self, names: Sequence[str]) -> None:
        with open(self._folder / LOCK, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # other processes of the run may want the same
            missing = [name for name in names if not self._is_here(name)]
            total = sum(self._sizes[name][0] for name in missing)
            files.require_space(self._folder, total, f"what is fetched from {self.address}")
            with progress_bar("fetch", "B", total) as bar, Pool() as pool:
                store = ObjectStore(self.address)
                for name in missing:
                    files.make_folder((self._folder / name).parent)
                    pool.add(partial(_fetch_file, store, name, self._folder / name, *self._sizes[name], bar.update))
                pool.finish()
        self._here.update(names)

    def _is_here(self, name: str) -> bool:
        path = self._folder / name
        return path.is_file() and path.stat().st_size == self._sizes[name][0]


def _fetch_file(store: ObjectStore, name: str, path: Path, size: int, checksum: int, progress: Progress) -> None:
    with files.whole(path, path.with_name(f"{path.name}.{os.getpid()}.tmp")) as file:
        store.fetch(name, lambda blocks: _write(file, blocks, size, checksum), size)
    progress(size)


def _write(file: IO[bytes], blocks: Iterator[bytes], size: int, checksum: int) -> None:
    """Write a file from its beginning. Raises Damaged where it is not the one of the manifest; it may then be written again."""
    file.seek(0)
    file.truncate()
    found, done = 0, 0
    for block in blocks:
        file.write(block)
        found, done = int(crc32c(np.frombuffer(block, np.uint8), found)), done + len(block)
    if (done, found) != (size, checksum):
        raise Damaged(f"{done:,} bytes arrived that do not match the manifest's checksum")


def folder_of(address: BucketAddress, fingerprint: str, root: bytes) -> Path:
    """Return the folder for the dataset with this ``fingerprint`` (hexadecimal digits), with its manifest ``root`` and report."""
    folder = cache_folder() / DATASETS / fingerprint[:32]
    files.make_folder(folder)
    files.write_atomic(folder / ORIGIN, json.dumps({"address": str(address)}).encode())
    if not (folder / REPORT).exists() and (report := ObjectStore(address).get(REPORT, MOST_ROOT)):
        files.write_atomic(folder / REPORT, report[0])
    if not (folder / ROOT).exists() or files.read(folder / ROOT) != root:
        files.write_atomic(folder / ROOT, root)
    return folder


def fetched_files(folder: Path, sizes: Sizes) -> FetchedFiles | None:
    """Return what fetches the files of the dataset in ``folder``, where it is one of those from object storage."""
    try:
        address = address_of(str(files.read_json(folder / ORIGIN)["address"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return FetchedFiles(address, folder, sizes) if address else None


def _make_room(used: Path, most: int) -> None:
    """Remove datasets that nobody uses, the one that was opened last at the end, until the others take ``most`` bytes."""
    others = [path for path in (cache_folder() / DATASETS).iterdir() if path.is_dir() and path != used]
    sizes = {path: sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) for path in others}
    for path in sorted(others, key=lambda path: (path / ORIGIN).stat().st_mtime if (path / ORIGIN).exists() else 0):
        if sum(sizes.values()) <= most:
            return
        with files.alone(path) as unused:
            if unused:
                log.info("%s is removed to make room within storage.cache (%s)", path, format_bytes(sizes.pop(path)))
                files.remove_tree(path)


def require_free(address: BucketAddress) -> None:
    """Raise UserError where there is a dataset at the address."""
    if ObjectStore(address).get(ROOT, MOST_ROOT) is not None:
        raise UserError(f"{address}: exists already: choose another address, or remove what is there")


def send_dataset(folder: Path, address: BucketAddress, sizes: Sizes) -> bool:
    """Send a dataset's folder, its manifest last: before that there is none. Returns False where it is there already.

    Raises UserError where another dataset is at the address, or a file here is not the one of the manifest.
    """
    store, root = ObjectStore(address), files.read(folder / ROOT)
    if (there := store.get(ROOT, MOST_ROOT)) is not None:
        if there[0] == root:
            return False
        raise UserError(f"{address}: another dataset is there already: choose another address, or remove it")
    names = [*sizes, *([REPORT] if (folder / REPORT).exists() else [])]
    with progress_bar("send", "B", sum(size for size, _ in sizes.values())) as bar, Pool() as pool:
        for name in names:
            pool.add(partial(_send_file, store, name, folder / name, sizes.get(name), bar.update))
        pool.finish()
    try:
        store.put_if(ROOT, root, None)
    except Taken:
        raise UserError(f"{address}: another process has just put a dataset there: choose another address") from None
    return True


def _send_file(store: ObjectStore, name: str, path: Path, expected: tuple[int, int] | None, progress: Progress) -> None:
    size = path.stat().st_size
    if expected is not None and (size, file_checksum(path, size)) != expected:
        raise RunError(f"{path}: does not match its checksum, so the dataset is not sent: make it again")
    store.put(name, path if size else b"")
    progress(size if expected else 0)
