"""One array of a .npy file, or of an .npz archive, read in blocks from front to back past the page cache.

Numpy reads the header alone. A memory map would count every touched page as this process's memory, and kill the process with a
signal where the file is cut while it is read.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
import numpy.lib.format as npy
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.preprocess.readers.source import checksum_of, locate, magic_of
from marius_lite.storage.engine import read_range

Array = npt.NDArray[Any]
Read = Callable[[npt.NDArray[np.uint8]], None]
Take = Callable[[int], Array]
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
MEMBER = ".npy"
SKIPPED_AT_ONCE = 1 << 20


def keys_of(path: Path) -> list[str]:
    """Return the names of an archive's arrays."""
    with reading(path), ZipFile(path) as archive:
        return [name.removesuffix(MEMBER) for name in archive.namelist() if name.endswith(MEMBER)]


class ArrayFile:
    """An opened array of ``shape`` and ``dtype``. ``by_column``: it is stored in Fortran order; `blocks` cannot read it.

    ``file``: FILE.npy, FILE.npz:KEY, or FILE.npz. Without a key it is the first of ``usual`` that the archive has, or its only
    one. ``name``: file and key, for messages. ``size``: bytes of the header and the array. Raises UserError, which ends with
    ``advice``, for a file that is no array.
    """

    def __init__(self, file: Path, advice: str, usual: Sequence[str] = ()):
        self.path, self.key = locate(file)
        self.advice = advice
        magic = magic_of(self.path)
        if magic not in ("npy", "zip"):
            raise UserError(f"{self.path}: not a .npy file (it looks like {magic}): {advice}")
        if magic == "zip":
            self.key = self._choose(usual)
        elif self.key is not None:
            raise UserError(f"{file}: not an .npz archive (it looks like {magic}): leave out :{self.key}")
        self.name = str(self.path) if self.key is None else f"{self.path}:{self.key}"
        with reading(self.path), self._open() as (stream, length):
            self.shape, self.by_column, self.dtype = self._header(stream)
            self._start = stream.tell()
        if self.dtype.hasobject:
            raise UserError(f"{self.name}: holds pickled Python objects, which are not read: {advice}")
        self.size = self._start + math.prod(self.shape) * self.dtype.itemsize
        if length != self.size:
            what = "cut short" if length < self.size else "something follows the array"
            raise UserError(
                f"{self.name}: {length} bytes where shape {self.shape} of {self.dtype.newbyteorder('=')} makes "
                f"{self.size}: {what}: get the file again"
            )
        self._checksum: int | None = None

    def _choose(self, usual: Sequence[str]) -> str:
        keys = keys_of(self.path)
        if self.key is None:
            chosen = [key for key in usual if key in keys] or (keys if len(keys) == 1 else [])
        else:
            chosen = [key for key in keys if key == self.key]
        if not chosen:
            given = "" if self.key is None else f":{self.key}"
            default = f" (without a key {' or '.join(usual)} is taken)" if usual and self.key is None else ""
            raise UserError(
                f"{self.path}{given}: which array? the archive has {', '.join(keys) or 'none'}: name one as "
                f"{self.path.name}:KEY{default}"
            )
        return chosen[0]

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], int]]:
        """Open the file or the archive's member. Returns its bytes and their number."""
        if self.key is None:
            with self.path.open("rb") as stream:
                yield stream, self.path.stat().st_size
            return
        with ZipFile(self.path) as archive, archive.open(self.key + MEMBER) as stream:
            yield stream, archive.getinfo(self.key + MEMBER).file_size

    def _header(self, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        try:
            version = npy.read_magic(stream)
            if version not in HEADERS:
                raise ValueError(f"format version {version}")
            with warnings.catch_warnings():  # an old or odd header is read all the same
                warnings.simplefilter("ignore")
                shape, by_column, dtype = HEADERS[version](stream)
        except (ValueError, SyntaxError, TokenError) as error:
            reason = str(error).splitlines()[0]
            raise UserError(f"{self.name}: not a readable .npy array ({reason}): {self.advice}") from error
        return shape, by_column and sum(length > 1 for length in shape) > 1, dtype

    def blocks(self, rows: int) -> Iterator[tuple[int, Array]]:
        """Read (first row, rows) from front to back, ``rows`` at a time."""
        with self.stream() as take:
            for first in range(0, self.shape[0], rows):
                yield first, take(min(rows, self.shape[0] - first))

    @contextmanager
    def stream(self) -> Iterator[Take]:
        """Return a function that reads the next rows, as many as it is asked for."""
        with self._reader() as read:
            read(np.empty(self._start, np.uint8))
            yield lambda count: self._block(read, (count, *self.shape[1:]))

    @contextmanager
    def entries(self, first: int) -> Iterator[Take]:
        """Return a function that reads the next numbers in the order of the file, from number ``first`` on, as many as it is
        asked for."""
        at = self._start + first * self.dtype.itemsize
        with self._reader(at if self.key is None else 0) as read:
            if self.key is not None:
                for done in range(0, at, SKIPPED_AT_ONCE):
                    read(np.empty(min(SKIPPED_AT_ONCE, at - done), np.uint8))
            yield lambda count: self._block(read, (count,))

    @property
    def checksum(self) -> int:
        """The crc32c of the whole file's bytes."""
        if self._checksum is None:
            self._checksum = checksum_of(self.path, lambda _: None)
        return self._checksum

    def _block(self, read: Read, shape: tuple[int, ...]) -> Array:
        block = np.empty(shape, self.dtype)
        read(block.view(np.uint8).reshape(-1))
        return block

    @contextmanager
    def _reader(self, at: int = 0) -> Iterator[Read]:
        """Return a function that fills an array with the next bytes, from byte ``at`` on. Reading all of a .npy file also gives
        its checksum."""
        checksum = 0 if at == 0 else None

        def read(out: npt.NDArray[np.uint8]) -> None:
            nonlocal at, checksum
            read_range(self.path, at, out)
            at += len(out)
            if checksum is not None:
                checksum = crc32c(out, checksum)
                self._checksum = checksum if at == self.size else None

        if self.key is None:
            yield read
            return
        with reading(self.path), self._open() as (stream, _):
            yield lambda out: read_all(stream, out)
            stream.read(1)  # past the end, where the archive's own checksum is compared


class OfArray:
    """A file that holds one array. ``name``: see `ArrayFile`. ``size``: bytes of the file. ``checksum``: their crc32c."""

    def __init__(self, array: ArrayFile):
        self._array, self.path, self.name = array, array.path, array.name

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @property
    def checksum(self) -> int:
        return self._array.checksum


def read_all(stream: IO[bytes], out: npt.NDArray[np.uint8]) -> None:
    """Fill ``out`` from a stream. Raises EOFError where the stream ends before it is full."""
    at, view = 0, out.data
    while at < len(out):
        part = stream.read(min(len(out) - at, 1 << 20))
        if not part:
            raise EOFError("the array ends early")
        view[at : at + len(part)] = part
        at += len(part)
