"""Input files: how patterns become files, what kind a file is, and its decompressed bytes."""

from __future__ import annotations

import bz2
import glob
import lzma
import os
import re
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.files import check_encodable, reading
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.members import choose, is_archive, member_names, open_member

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "zip",
}
PUT_ON_DISK = (".stdin.tmp", ".inputs.tmp")  # endings of folders
PART = re.compile(r"(.*\.(?:npz|zip|tgz|tar(?:\.\w+)?)):(.*)")
Progress = Callable[[int], object]


@dataclass(frozen=True)
class InputFile:
    """A file. ``split``: of its edges (0 train, 1 valid, 2 test). ``key``, ``member``: the array or file in an archive."""

    path: Path
    split: int
    key: str | None = None
    member: str | None = None

    @property
    def name(self) -> str:
        part = self.key or self.member
        return str(self.path) if part is None else f"{self.path}:{part}"

    @property
    def shown(self) -> str:
        """The name for the user, who knows nothing of the folders in which what is no file is put on disk first."""
        return self.path.name if self.path.parent.name.endswith(PUT_ON_DISK) else self.name


def locate(name: str | Path) -> tuple[Path, str | None]:
    """Return (file, key). ``FILE.npz:KEY`` names one array, ``FILE.zip:KEY`` one member; any other name is a file without a
    key."""
    part = PART.fullmatch(str(name))
    return (Path(part[1]), part[2]) if part else (Path(name), None)


def find_files(options: Options) -> list[InputFile]:
    """Return every input file; the files of a pattern are sorted. Raises UserError for a file that does not exist or stands
    twice."""
    inputs = []
    for split, (kind, patterns) in enumerate(zip(options.file_kinds, (options.edges, options.valid, options.test))):
        for pattern in patterns:
            located, key = locate(pattern)
            paths = [str(located)] if located.exists() else sorted(glob.glob(str(located), recursive=True))
            files = [Path(path) for path in paths if not Path(path).is_dir()]
            if not files:
                what = "is a folder" if Path(pattern).is_dir() else "no such file"
                raise UserError(f"{pattern}: {what}: name the {kind}, or a pattern such as 'edges/*.tsv'")
            inputs += [file for path in files for file in _parts(path, split, key)]
    places: set[tuple[Path, str | None, str | None]] = set()
    for file in inputs:
        check_encodable(file.path)
        if (place := (file.path.resolve(), file.key, file.member)) in places:
            raise UserError(f"{file.name}: named twice: every input file may stand once")
        places.add(place)
    return inputs


def _parts(path: Path, split: int, key: str | None) -> list[InputFile]:
    """Return a file, or the members of an archive that ``key`` names."""
    magic = magic_of(path)
    if not is_archive(path, magic):
        return [InputFile(path, split, key)]
    with reading(path), closing(ByteStream(path)) as stream:
        names = member_names(path, magic, stream)
    return [InputFile(path, split, member=name) for name in choose(path, names, key)]


def magic_of(path: Path) -> str:
    """Return gzip, zstd, bz2, xz, parquet, arrow, npy or zip, by the first bytes; text for any other. Raises UserError for a file
    that cannot be read."""
    with reading(path), open(path, "rb") as file:
        return _magic(file.read(8))


def _magic(head: bytes) -> str:
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), "text")


class ByteStream:
    """The decompressed bytes of a file, or of an archive's member. Raw bytes are counted on the way, and their crc32c is
    taken."""

    def __init__(self, path: Path, progress: Progress = lambda _: None, member: str | None = None):
        self.path = path
        self.member = member
        self.name = str(path) if member is None else f"{path}:{member}"
        self.compression = magic_of(path)
        self.raw_bytes = 0
        self._checksum = 0
        self._end: int | None = None
        self._progress = progress
        self._opened = ExitStack()
        try:
            with reading(path):
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._file: Any
        if self.member is None:
            self._file = self._opened.enter_context(self.path.open("rb", buffering=0))
            self.size = self.path.stat().st_size
        else:
            unpacked = self._opened.enter_context(closing(ByteStream(self.path)))
            self._file, self.size = open_member(self.path, self.compression, unpacked, self.member, self._opened)
            self.compression = _magic(self._file.peek(8))
        self._stream: Any = self._decompressed()

    @property
    def checksum(self) -> int:
        """The crc32c of the whole file, also of an archive. Known when all is read."""
        if self.member is not None and not self._checksum:
            self._checksum = checksum_of(self.path, lambda _: None)
        return self._checksum

    def _decompressed(self) -> Any:
        if self.compression == "xz":
            return lzma.LZMAFile(cast(IO[bytes], _Tee(self)))
        if self.compression == "bz2":
            return bz2.BZ2File(cast(IO[bytes], _Tee(self)))
        if self.compression in ("gzip", "zstd"):
            return pa.CompressedInputStream(pa.PythonFile(_Tee(self), mode="r"), self.compression)
        return _Tee(self)

    def read(self, size: int) -> bytes:
        """Read ``size`` bytes, or all that are left; empty at the end."""
        with reading(self.path):
            parts: list[bytes] = []
            while size > 0 and (part := self._stream.read(size)):
                parts.append(part)
                size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def samples(self, count: int, size: int) -> list[bytes]:
        """Read ``count`` samples of ``size`` bytes, evenly spread over a file; none of a file that is compressed or small."""
        if not self.plain or self.size <= count * size:
            return []
        with reading(self.path):
            return [os.pread(self._file.fileno(), size, self.size * place // count) for place in range(count)]

    @property
    def plain(self) -> bool:
        """Whether the bytes are those of the file, which can be read from any place."""
        return self.member is None and self.compression == "text"

    def begin_at(self, place: int, most: int) -> bytes:
        """Go on reading a plain file at ``place``. Returns the beginning of the line there, or ``most`` bytes and more of it."""
        begun = b""
        with reading(self.path):
            while (at := place - len(begun)) > 0 and b"\n" not in begun and len(begun) <= most:
                size = min(1 << 16, at)
                begun = os.pread(self._file.fileno(), size, at - size) + begun
            self._file.seek(place)
        self._checksum = self.raw_bytes = 0
        return begun[begun.rfind(b"\n") + 1 :]

    def end_at(self, place: int) -> None:
        """Let a plain file end at ``place``."""
        self._end = place

    def take_raw(self, size: int) -> bytes:
        if self._end is not None:
            size = min(size, max(0, self._end - self._file.tell()))
        data: bytes = self._file.read(size)
        if data:
            if self.member is None:
                self._checksum = crc32c(np.frombuffer(data, np.uint8), self._checksum)
            self.raw_bytes += len(data)
            self._progress(len(data))
        return data

    def close(self) -> None:
        self._opened.close()


class _Tee:
    """The raw file, with the methods that a decompressor calls."""

    closed = False

    def __init__(self, stream: ByteStream):
        self._owner = stream

    def read(self, size: int = -1) -> bytes:
        return self._owner.take_raw(1 << 20 if size is None or size < 0 else size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        pass


def checksum_of(path: Path, progress: Progress, begin: int = 0, end: int | None = None) -> int:
    """Return the crc32c of a whole file, or of its bytes ``begin`` to before ``end``, for formats that are not read from front to
    back."""
    checksum, left = 0, (path.stat().st_size if end is None else end) - begin
    with reading(path), path.open("rb") as file:
        file.seek(begin)
        while data := file.read(min(4 << 20, max(0, left))):
            left -= len(data)
            checksum = crc32c(np.frombuffer(data, np.uint8), checksum)
            progress(len(data))
    return checksum
