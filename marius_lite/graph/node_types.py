"""Read the types of nodes: column ``type`` of ``nodes.parquet``, a dictionary of names. A type's code is its place in the
manifest's ``node_types``."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.graph.ids import IdFile

MOST_TYPES = 1 << 16
INT = re.compile(r"0|-?[1-9][0-9]{0,17}")
Codes = npt.NDArray[np.uint16]
Places = npt.NDArray[np.int64]


def in_order(names: Sequence[str]) -> list[str]:
    """Return names in the order in which a dataset numbers them: as numbers if all are numbers, else by their bytes."""
    return sorted(names, key=int) if all(INT.fullmatch(name) for name in names) else sorted(names, key=str.encode)


def places_of(column: pa.DictionaryArray, names: pa.Array) -> Places:
    """Return the place of each type of a column among ``names``, -1 for null and for other types."""
    places = pc.index_in(column.dictionary, value_set=names).take(column.indices)
    found: Places = places.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return found


def typed(codes: Codes, names: pa.Array) -> pa.DictionaryArray:
    """Return the column with these codes. Its dictionary has all ``names``."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)


def compact(codes: Codes, names: pa.Array) -> pa.DictionaryArray:
    """Return the column with these codes. Its dictionary has only the names that occur."""
    there = np.flatnonzero(np.bincount(codes, minlength=len(names)))
    return pa.DictionaryArray.from_arrays(pa.array(np.searchsorted(there, codes).astype(np.int32)), names.take(pa.array(there)))


class NodeTypes:
    """The types of a dataset's ``count`` nodes. ``names``: the name of each code."""

    def __init__(self, nodes: IdFile, count: int, names: Sequence[str]):
        self._nodes, self.count = nodes, count
        self.names = pa.array(names, pa.string())

    def codes(self, start: int, stop: int) -> Codes:
        """Read the codes of node ids [start, stop)."""
        found, at = np.empty(max(0, min(stop, self.count) - start), np.uint16), 0
        for part in self._nodes.parts(start, stop, "type"):
            found[at : at + len(part)] = places_of(part, self.names)
            at += len(part)
        return found[:at]

    def read(self, start: int, stop: int) -> pa.DictionaryArray:
        """Read the types of node ids [start, stop), as names."""
        return typed(self.codes(start, stop), self.names)
