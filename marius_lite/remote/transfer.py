"""Files of a folder to objects and back: in parts, several at a time, each compared with its SHA-256."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from marius_lite import files
from marius_lite.progress_bar import progress_bar
from marius_lite.remote.failures import Damaged
from marius_lite.remote.pool import Pool
from marius_lite.remote.store import ObjectStore
from marius_lite.remote.tree import Part, Tree
from marius_lite.storage.snapshots import link

PART = 32 << 20
"""Bytes of a part: so many are sent at a time, and sent again where something fails."""
MOST_PARTS = 64
"""The most parts of a file that grows. With more it is sent anew, in large ones."""
Identity = tuple[int, int, int, int]


_COMPARED: dict[Identity, tuple[Part, ...]] = {}
"""The files that this process has compared with what they are made of."""


def identity(path: Path) -> Identity:
    """Return what tells a file from another one, and from itself once it was changed."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Sender:
    """Sends files as objects with names of their own, `objects/<writer>/<number>`. It remembers what it has sent."""

    def __init__(self, store: ObjectStore, writer: str):
        self._store, self._writer = store, writer
        self._numbers = itertools.count()
        self._known: dict[Identity, tuple[Part, ...]] = {}
        self.sent: set[str] = set()
        """The names of the objects that it has made, but for those that it was told to forget."""

    def know(self, path: Path, parts: Sequence[Part]) -> None:
        """Take note that a file is made of these parts."""
        self._known[identity(path)] = tuple(parts)

    def keep(self, objects: set[str]) -> None:
        """Forget all other objects: they are removed."""
        self.sent &= objects
        self._known = {key: parts for key, parts in self._known.items() if {part.name for part in parts} <= objects}

    def send(self, paths: Mapping[str, Path], before: Tree) -> dict[str, tuple[Part, ...]]:
        """Send files by name, but for parts that are there. ``before``: the files as they were. Returns their parts."""
        there = {(part.size, part.sha256): part for parts in before.files.values() for part in parts}
        result: dict[str, tuple[Part, ...]] = {}
        with Pool() as pool:
            for name, path in paths.items():
                if (key := identity(path)) in self._known:
                    result[name] = self._known[key]
                    continue
                parts = []
                for block in _blocks(path, before.files.get(name, ())):
                    size, digest = len(block), hashlib.sha256(block).hexdigest()
                    if (size, digest) not in there:
                        there[size, digest] = part = Part(f"objects/{self._writer}/{next(self._numbers)}", size, digest)
                        pool.add(partial(self._put, part, block))
                    parts.append(there[size, digest])
                result[name] = self._known[key] = tuple(parts)
            try:
                pool.finish()
            except BaseException:
                self._known.clear()  # some of these parts are not there
                raise
        return result

    def _put(self, part: Part, block: bytes) -> None:
        self.sent.add(part.name)
        self._store.put(part.name, block)


def _blocks(path: Path, before: Sequence[Part]) -> Iterator[bytes]:
    """Yield a file block by block: as it was cut ``before``, as far as it is the same, then in large ones."""
    with files.disk_errors(path), open(path, "rb") as file:
        for part in before if len(before) < MOST_PARTS else ():
            block = file.read(part.size)
            if hashlib.sha256(block).hexdigest() != part.sha256:
                file.seek(-len(block), os.SEEK_CUR)
                break
            yield block
        while block := file.read(PART):
            yield block


def fetch(store: ObjectStore, tree: Tree, folder: Path) -> dict[Path, tuple[Part, ...]]:
    """Make the files of ``tree`` in ``folder``, but for those that are there. Returns all, with their parts.

    Files that are made of the same parts become links of one. Raises UserError where the disk has no room or an object is
    missing, RunError where it stays damaged.
    """
    result = {folder / name: parts for name, parts in tree.files.items()}
    missing = {path: parts for path, parts in result.items() if not is_made_of(path, parts)}
    first = {parts: path for path, parts in reversed(missing.items())}
    total = sum(part.size for parts in first for part in parts)
    files.require_space(folder, total, f"what is fetched from {store.address}")
    with progress_bar("fetch", "B", total) as bar, Pool() as pool:
        for parts, path in first.items():
            files.make_folder(path.parent)
            pool.add(partial(_fetch_file, store, parts, path, bar.update))
        pool.finish()
    for path, parts in missing.items():
        if path != first[parts]:
            files.make_folder(path.parent)
            path.unlink(missing_ok=True)
            link(first[parts], path)
    return result


def is_made_of(path: Path, parts: Sequence[Part]) -> bool:
    """Return whether there is such a file, with the bytes of these parts."""
    if not path.is_file() or path.is_symlink() or path.stat().st_size != sum(part.size for part in parts):
        return False
    if _COMPARED.get(key := identity(path)) == tuple(parts):
        return True
    with files.disk_errors(path), open(path, "rb") as file:
        same = all(hashlib.sha256(file.read(part.size)).hexdigest() == part.sha256 for part in parts)
    if same:
        _COMPARED[key] = tuple(parts)
    return same


def _fetch_file(store: ObjectStore, parts: Sequence[Part], path: Path, progress: Callable[[int], object]) -> None:
    with files.whole(path, path.with_name(f"{path.name}.{os.getpid()}.tmp")) as file:
        for part in parts:
            at = file.tell()
            store.fetch(part.name, partial(_write_part, file, at, part), part.size)
            progress(part.size)


def _write_part(file: IO[bytes], at: int, part: Part, blocks: Iterable[bytes]) -> None:
    """Write a part from byte ``at`` on. Raises Damaged where it is not the right one; it may then be written again."""
    file.seek(at)
    digest, size = hashlib.sha256(), 0
    for block in blocks:
        file.write(block)
        digest.update(block)
        size += len(block)
    if (size, digest.hexdigest()) != (part.size, part.sha256):
        raise Damaged(f"{size:,} bytes arrived that do not match their checksum")
