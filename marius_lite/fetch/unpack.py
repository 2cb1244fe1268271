"""Take files out of archives. A recipe names them, and what they are called outside: no name of an archive becomes a path."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import ZipFile, is_zipfile

from marius_lite import files
from marius_lite.errors import UserError
from marius_lite.progress_bar import progress_bar
from marius_lite.sizes import format_bytes

AT_ONCE = 1 << 20
LEAST_BOUND = 1 << 30
"""Bytes that may be unpacked from an archive however small it is."""


class Entry(NamedTuple):
    """A regular file in an archive, as the archive describes it."""

    name: str
    size: int
    handle: Any


def unpack(archive: Path, wanted: Mapping[str, str], folder: Path) -> None:
    """Write members of a zip or tar into ``folder``. ``wanted``: the end of a member's path, and its name there.

    Each file appears whole or not at all; those that are there already stay. Raises UserError for an archive that is none, for
    one without a member or with several of its name, and for more bytes than such an archive can reasonably hold.
    """
    files.make_folder(folder)
    if all((folder / name).exists() for name in wanted.values()):
        return
    left = max(LEAST_BOUND, files.MOST_UNPACKED * archive.stat().st_size)
    with files.reading(archive), _opened(archive) as opened:
        for entry, member in _chosen(archive, opened, wanted):
            if entry.size > left:
                raise UserError(f"{archive}: {entry.name}: {format_bytes(entry.size)}: more than such an archive can hold")
            left -= entry.size
            target = folder / wanted[member]
            if not target.exists():
                _write(opened, entry, target)


def is_archive(path: Path) -> bool:
    """Return whether a file is a tar, or a zip that is no array of numpy and no file of torch."""
    return path.is_file() and (tarfile.is_tarfile(path) or (is_zipfile(path) and path.suffix not in (".npz", ".pt", ".pth")))


class _Zip:
    """The files of a zip archive."""

    def __init__(self, path: Path):
        self._archive = ZipFile(path)

    def entries(self) -> Iterator[Entry]:
        for info in self._archive.infolist():
            if not info.is_dir() and (info.external_attr >> 28) != 0o12:  # which marks a symbolic link
                yield Entry(info.filename, info.file_size, info)

    def open(self, entry: Entry) -> IO[bytes]:
        return self._archive.open(entry.handle)

    def close(self) -> None:
        self._archive.close()


class _Tar:
    """The files of a tar archive, which is read from front to back."""

    def __init__(self, path: Path):
        self._archive = tarfile.open(path, "r|*", bufsize=AT_ONCE)  # noqa: SIM115 closed by close()

    def entries(self) -> Iterator[Entry]:
        for info in self._archive:
            if info.isfile():
                yield Entry(info.name, info.size, info)

    def open(self, entry: Entry) -> IO[bytes]:
        stream = self._archive.extractfile(entry.handle)
        assert stream is not None, "it is a file"
        return stream

    def close(self) -> None:
        self._archive.close()


@contextmanager
def _opened(path: Path) -> Iterator[_Zip | _Tar]:
    if not is_archive(path):
        raise UserError(f"{path}: is no zip or tar archive: get the file again, or name another with --from")
    archive = _Zip(path) if is_zipfile(path) else _Tar(path)
    try:
        yield archive
    finally:
        archive.close()


def _chosen(path: Path, archive: _Zip | _Tar, wanted: Mapping[str, str]) -> Iterator[tuple[Entry, str]]:
    """Yield each wanted member with the name it was wanted by. Raises UserError where one is missing, or there twice."""
    found: dict[str, str] = {}
    for entry in archive.entries():
        for member in wanted:
            if entry.name == member or entry.name.endswith("/" + member):
                if member in found:
                    raise UserError(f"{path}: has {found[member]} and {entry.name}: which one is {member}?")
                found[member] = entry.name
                yield entry, member
    if missing := [member for member in wanted if member not in found]:
        raise UserError(f"{path}: has no {', '.join(missing)}: it is another archive than the recipe is for")


def _write(archive: _Zip | _Tar, entry: Entry, target: Path) -> None:
    beside = target.with_name(target.name + ".tmp")
    files.make_folder(target.parent)
    files.require_space(target, entry.size, f"unpacking {entry.name}")
    with files.disk_errors(target), archive.open(entry) as source, open(beside, "wb") as out:
        with progress_bar(f"unpack {target.name}", "B", entry.size) as bar:
            while block := source.read(AT_ONCE):
                out.write(block)
                bar.update(len(block))
        if out.tell() != entry.size:
            raise UserError(f"{entry.name}: {out.tell():,} bytes, the archive says {entry.size:,}: get it again")
        os.fsync(out.fileno())
    files.publish(beside, target)
