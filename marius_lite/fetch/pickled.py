"""Read the dictionary of numpy arrays that OGB's split files (.pt) are, in bounded memory and without running anything in them.

torch.save pickles numpy's arrays by protocol 2, whose bytes are text: Latin-1 characters, written as UTF-8. A long text is put
into a file while it is read, and its array becomes a memory map of that file. No name in the pickle is imported: the few that
numpy's arrays need stand for classes here, all others for an empty object.
"""

from __future__ import annotations

import codecs
import pickle
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar
from zipfile import ZipFile, is_zipfile

import numpy as np
import numpy.typing as npt

from marius_lite import files
from marius_lite.errors import UserError

LONG = 1 << 16
"""A text of so many bytes is put into a file."""
AT_ONCE = 1 << 20
LEGACY_BEFORE = 3
"""Pickles that stand before the object's own in files from before torch 1.6: a number, a version, the machine."""


@contextmanager
def pickled_arrays(path: Path, scratch: Path) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Give the arrays of the dictionary in a file of torch.save, by name. ``scratch``: an empty folder for their numbers.

    Raises UserError for a file that holds anything else.
    """
    with files.reading(path), _stream(path) as (stream, before):
        for _ in range(before):
            _Arrays(stream, scratch).load()
        loaded = _Arrays(stream, scratch).load()
    arrays = (
        {str(key): value.array for key, value in loaded.items() if isinstance(value, _Array)} if isinstance(loaded, dict) else {}
    )
    if not arrays:
        raise UserError(f"{path}: no dictionary of numpy arrays: it is another file than the recipe is for")
    yield arrays


@contextmanager
def _stream(path: Path) -> Iterator[tuple[IO[bytes], int]]:
    """Open the pickle in a file, a zip archive or what torch wrote before 1.6. Gives how many others stand before it, too."""
    if not is_zipfile(path):
        with open(path, "rb") as stream:
            yield stream, LEGACY_BEFORE
        return
    with ZipFile(path) as archive:
        name = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
        if name is None:
            raise UserError(f"{path}: is no file of torch.save")
        with archive.open(name) as packed, BufferedReader(packed) as stream:  # type: ignore[type-var]
            yield stream, 0


class _Spooled:
    """The bytes of a long text, in a file."""

    def __init__(self, path: Path):
        self.path = path


class _Dtype:
    """Stands for numpy.dtype."""

    def __init__(self, kind: Any = "", *_: Any):
        self.kind, self.order = kind, "<"

    def __setstate__(self, state: Any) -> None:
        self.order = {">": ">"}.get(state[1], "<")

    def numpy(self) -> np.dtype[Any]:
        if self.kind not in ("i8", "i4", "u8", "u4", "f4", "f8", "i2", "u1", "i1", "b1"):
            raise ValueError(f"numbers of type {str(self.kind)[:20]!r}")
        return np.dtype(f"{self.order}{self.kind}")


class _Array:
    """Stands for an array of numpy."""

    array: npt.NDArray[Any]

    def __init__(self, *_: Any):
        self.array = np.empty(0)

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, data = state
        kind, order = dtype.numpy(), "F" if fortran else "C"
        if isinstance(data, _Spooled):
            self.array = np.memmap(data.path, kind, "r", shape=tuple(shape), order=order)  # type: ignore[call-overload]
        else:
            given = data.encode("latin-1") if isinstance(data, str) else data
            self.array = np.frombuffer(given, kind).reshape(tuple(shape), order=order)  # type: ignore[call-overload]


class _Other:
    """Stands for an object of any other class."""

    def __init__(self, *_: Any):
        pass

    def __setstate__(self, state: Any) -> None:
        pass


def _encode(text: Any, _: Any = None) -> Any:
    """Stands for codecs.encode, which makes bytes of text."""
    return text if isinstance(text, _Spooled) else str(text).encode("latin-1")


NAMES: dict[tuple[str, str], Any] = {
    ("_codecs", "encode"): _encode,
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Array,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
}


class _Arrays(pickle._Unpickler):
    """An unpickler that puts long texts and bytes into files."""

    def __init__(self, stream: IO[bytes], scratch: Path):
        super().__init__(stream)
        self._stream, self._scratch = stream, scratch

    if TYPE_CHECKING:  # the base class makes both when it begins to load

        def read(self, count: int) -> bytes: ...
        def append(self, value: object) -> None: ...
        def load_build(self) -> None: ...

        stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        return NAMES.get((module, name), _Other)

    def persistent_load(self, pid: Any) -> Any:
        return _Other()

    def _text(self) -> None:
        (length,) = struct.unpack("<I", self.read(4))
        if length < LONG:
            self.append(self.read(length).decode("utf-8", "surrogatepass"))
        else:
            self.append(self._spool(length))

    def _spool(self, length: int) -> _Spooled:
        """Put the characters of a text, the next ``length`` bytes of the pickle, into a file as bytes."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        path = self._scratch / f"{len(list(self._scratch.iterdir()))}.bin"
        with files.disk_errors(path), open(path, "wb") as out:
            while length:
                block = self._stream.read(min(length, AT_ONCE))
                if not block:
                    raise EOFError("the file ends inside an array")
                length -= len(block)
                out.write(decoder.decode(block, not length).encode("latin-1"))
        return _Spooled(path)

    def _refused(self) -> None:
        raise ValueError("bytes as protocols above 2 write them")

    def _state(self) -> None:
        """Give an object its state, if its class takes one. Python would set any attribute of others, such as a path."""
        takes_one = isinstance(self.stack[-2], _Dtype | _Array | _Other)
        if not takes_one:
            raise pickle.UnpicklingError("a state for an object that has none")
        self.load_build()

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **pickle._Unpickler.dispatch,
        pickle.BINUNICODE[0]: _text,
        pickle.BUILD[0]: _state,
        **dict.fromkeys((pickle.BINBYTES[0], pickle.BINUNICODE8[0], pickle.BINBYTES8[0], pickle.BYTEARRAY8[0]), _refused),
    }
