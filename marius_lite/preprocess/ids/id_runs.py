"""Raw ids on disk, in the order in which they are numbered: by (keyed hash, raw id). See csrc/graph/id_runs.h."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.graph.ids import IdKind

BLOCK = 1 << 18  # ids at once, at most
BLOCK_BYTES = 16 << 20  # of strings at once, unless one is longer
END_BYTES = INT_BYTES = 8
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class IdRun:
    """``count`` distinct raw ids in ``folder``. File ``values`` is ``bytes`` long; for strings, ``ends`` says where each ends."""

    folder: Path
    kind: IdKind
    count: int
    bytes: int

    @property
    def files(self) -> tuple[str, str, int, int]:
        """The run as the native merge takes it."""
        return str(self.folder / "values"), str(self.folder / "ends"), self.count, self.bytes

    def read(self, block: int = BLOCK) -> Iterator[pa.Array]:
        """Read the raw ids in order, int64 or string, at most ``block`` at a time."""
        with open(self.folder / "values", "rb") as values:
            if self.kind == "int":
                for first in range(0, self.count, block):
                    yield pa.array(_read(values, np.int64, min(block, self.count - first)))
                return
            with open(self.folder / "ends", "rb") as ends:
                begin = 0
                for first in range(0, self.count, block):
                    places = np.concatenate([[begin], _read(ends, np.int64, min(block, self.count - first))])
                    begin = int(places[-1])
                    for part in pieces(places):
                        yield strings(part - part[0], _read(values, np.uint8, int(part[-1] - part[0])))


class IdRunWriter:
    """Writes a run; `close` returns it."""

    def __init__(self, folder: Path, kind: IdKind):
        self._folder, self._kind = folder, kind
        self._count = self._bytes = 0
        folder.mkdir(parents=True)
        self._values = open(folder / "values", "wb")  # noqa: SIM115
        self._ends = open(folder / "ends", "wb") if kind == "str" else None  # noqa: SIM115

    def append_ints(self, ids: Int64s) -> None:
        self._write(ids, len(ids))

    def append_strings(self, offsets: Int64s, data: npt.NDArray[np.uint8]) -> None:
        """Append the strings ``data[offsets[i] : offsets[i + 1]]``. The first offset is 0."""
        assert self._ends is not None
        self._ends.write((offsets[1:] + self._bytes).data)
        self._write(data, len(offsets) - 1)

    def _write(self, values: npt.NDArray[Any], count: int) -> None:
        self._values.write(values.data)
        self._bytes += values.nbytes
        self._count += count

    def close(self) -> IdRun:
        for file in (self._values, self._ends):
            if file is not None:
                file.close()
        return IdRun(self._folder, self._kind, self._count, self._bytes)


def id_run_bytes(kind: IdKind, count: int, size: int) -> int:
    """What a run of ``count`` raw ids takes whose values are ``size`` bytes long."""
    return size + END_BYTES * count * (kind == "str")


def pieces(offsets: Int64s) -> Iterator[Int64s]:
    """Cut the ``offsets`` of strings into pieces of at most BLOCK_BYTES of strings, or of one string. The offset at a cut is in
    both pieces."""
    while len(offsets) > 1:
        stop = max(2, int(np.searchsorted(offsets, offsets[0] + BLOCK_BYTES, side="right")))
        yield offsets[:stop]
        offsets = offsets[stop - 1 :]


def strings(offsets: Int64s, data: npt.NDArray[np.uint8]) -> pa.Array:
    """Return an Arrow string array over ``data``. ``offsets``: one more than there are strings, the first is 0."""
    large = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))
    return large.cast(pa.string())


def _read(file: IO[bytes], dtype: type[Any], count: int) -> npt.NDArray[Any]:
    out = np.empty(count, dtype)
    if file.readinto(out.view(np.uint8).data) != out.nbytes:  # type: ignore[attr-defined]
        raise OSError(f"{file.name}: shorter than it was written")
    return out
