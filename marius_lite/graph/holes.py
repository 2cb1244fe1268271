"""Places of edges that were removed after they were written. Their files stay as they are; readers leave these edges out."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.checked import CheckedFiles
from marius_lite.storage.flat import read_array_range
from marius_lite.storage.metadata import create_group
from marius_lite.storage.small_arrays import write_array

HOLES = "holes"
STEP = 1 << 18  # values that are moved at a time
AT_ONCE = 1 << 12  # holes that are read to find one among them
Places = npt.NDArray[np.int64]


class Holes:
    """The removed edges of ``parts`` of an array that lie one after the other: buckets, or the in-edge lists of partitions.

    ``folder`` has ``places``, where in the array each one is, ascending, and ``offsets``, how many there are before each part.
    """

    def __init__(self, folder: Path, parts: int, checked: CheckedFiles | None):
        self._folder, self._parts, self._checked = folder, parts, checked

    @classmethod
    def find(cls, beside: Path, parts: int, checked: CheckedFiles | None) -> Holes | None:
        """Return the holes of the arrays in the folder ``beside``; None where there are none."""
        described = beside / HOLES / "zarr.json"
        there = described.exists() if checked is None else checked.has(described)
        return cls(beside / HOLES, parts, checked) if there else None

    @cached_property
    def offsets(self) -> Places:
        """How many holes there are before each part: int64 (parts + 1,)."""
        if self._checked:
            self._checked.check(self._folder)
        return read_array_range(self._folder / "offsets", 0, self._parts + 1)

    def all(self) -> Places:
        """Read where all holes are."""
        return self._read(0, self._parts)

    def of(self, parts: Places) -> tuple[Places, Places]:
        """Return where the holes of ascending ``parts`` are, and of each which of these parts it is in."""
        counts = np.diff(self.offsets)[parts]
        some = np.flatnonzero(counts)
        runs = np.split(parts[some], np.flatnonzero(np.diff(parts[some]) != 1) + 1)
        places = [self._read(int(run[0]), int(run[-1]) + 1) for run in runs if len(run)]
        return np.concatenate([np.empty(0, np.int64), *places]), np.repeat(np.arange(len(parts)), counts)

    def between(self, first: int, last: int, low: int, high: int) -> tuple[int, Places]:
        """Return the holes of parts [first, last) that are at [low, high), and how many there are before these in all parts."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        begin, end = (self._bound(begin, end, place) for place in (low, high))
        return begin, read_array_range(self._folder / "places", begin, max(begin, end))

    def _bound(self, begin: int, end: int, place: int) -> int:
        """Return how many holes there are before ``place``: one of [begin, end]."""
        while end - begin > AT_ONCE:
            middle = (begin + end) // 2
            if read_array_range(self._folder / "places", middle, middle + 1)[0] < place:
                begin = middle + 1
            else:
                end = middle
        return begin + int(np.searchsorted(read_array_range(self._folder / "places", begin, end), place))

    def _read(self, first: int, last: int) -> Places:
        return read_array_range(self._folder / "places", int(self.offsets[first]), int(self.offsets[last]))


def write_holes(beside: Path, places: Places, begins: Places) -> None:
    """Write ``places``, ascending, for arrays in the folder ``beside`` whose parts begin at ``begins``, and end with the last."""
    create_group(beside / HOLES)
    write_array(beside / HOLES / "places", places.astype(np.int64))
    write_array(beside / HOLES / "offsets", np.searchsorted(places, begins).astype(np.int64))


def closed_up(values: npt.NDArray[Any], holes: Places) -> npt.NDArray[Any]:
    """Move ``values`` together, in their own memory, without those at ``holes``, ascending. Returns what is left."""
    filled = int(holes[0]) if len(holes) else len(values)
    for low in range(filled, len(values), STEP):
        part = values[low : low + STEP]
        keep = np.ones(len(part), bool)
        first, last = np.searchsorted(holes, [low, low + len(part)])
        keep[holes[first:last] - low] = False
        kept = part[keep]
        values[filled : filled + len(kept)] = kept
        filled += len(kept)
    return values[:filled]
