"""Read raw ids: ``nodes.parquet`` (one row group for each partition) and ``relations.parquet``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from marius_lite._native import hash_ints, hash_strings
from marius_lite.errors import UserError
from marius_lite.files import disk_errors
from marius_lite.graph.checked import CheckedFiles
from marius_lite.seeds import seed_for

IdKind = Literal["int", "str"]
RAW_TYPES = {"int": pa.int64(), "str": pa.string()}
Places = npt.NDArray[np.int64]
TYPE = pa.dictionary(pa.int32(), pa.string())


def node_schema(kind: IdKind, types: bool = False) -> pa.Schema:
    """Return the schema of ``nodes.parquet``. ``types``: whether nodes have types, see `graph.node_types`."""
    return pa.schema([("node_id", pa.int64()), ("raw_id", RAW_TYPES[kind]), *([("type", TYPE)] if types else [])])


def relation_schema(kind: IdKind) -> pa.Schema:
    """Return the schema of ``relations.parquet``."""
    return pa.schema([("relation_id", pa.int64()), ("raw_id", RAW_TYPES[kind]), ("count", pa.int64())])


def as_raw(values: Sequence[Any], kind: IdKind) -> pa.Array:
    """Return values of a user as raw ids of this kind. Raises UserError for a value that cannot be one."""
    if kind == "str":
        return pa.array([str(value) for value in values], pa.string())
    try:
        return pa.array([int(value) for value in values], pa.int64())
    except (ValueError, OverflowError, TypeError) as error:
        raise UserError(f"raw id: {error}: the dataset's ids are integers of at most 63 bits") from error


def order_key(seed: int) -> int:
    """Return the key of the hash by which raw ids are ordered."""
    return seed_for(seed, "node-order")


def string_buffers(values: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return (offsets, bytes) of a string array of at least one value."""
    _, offsets, data = values.buffers()
    places = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    return places, np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)


def hash_raw_ids(raw: pa.Array, key: int) -> npt.NDArray[np.uint64]:
    """Return the 64-bit hashes of raw ids under ``key``. There is at least one, and none is null. Different integers have
    different hashes."""
    out = np.empty(len(raw), np.uint64)
    if pa.types.is_string(raw.type):
        hash_strings(*string_buffers(raw), key, out)
    else:
        hash_ints(raw.to_numpy(), key, out)
    return out


def names_file(segment: str) -> str:
    """Return the file of a segment of the nodes' names; the first has no name."""
    return f"nodes/{segment}.parquet" if segment else "nodes.parquet"


class IdFile:
    """A Parquet file of raw ids, whose row number is the id, with ``more`` files whose rows follow. One row group is read at a
    time.

    ``checked``: the dataset's files, which compare each whole file with its checksum before its first use. It is None while
    preprocess makes the file. ``key``: that of the hash by which raw ids are mostly ordered; None where they are not.
    """

    def __init__(
        self, path: Path, kind: IdKind, checked: CheckedFiles | None = None, more: Sequence[Path] = (), key: int | None = None
    ):
        self.path = path
        self.kind = kind
        self._checked, self._files, self._key = checked, (path, *more), key

    def _groups(self, column: str, wanted: Callable[[int, int], bool]) -> Iterator[tuple[int, pa.Array]]:
        """Yield (first id, values of a column) of each row group whose ids [first, end) are ``wanted``."""
        first = 0
        for path in self._files:
            if self._checked:
                self._checked.check(path)
            with disk_errors(path), pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    end = first + file.metadata.row_group(group).num_rows
                    if wanted(first, end):
                        yield first, file.read_row_group(group, columns=[column]).column(0).combine_chunks()
                    first = end

    def read(self, start: int, stop: int) -> pa.Array:
        """Read the raw ids of ids [start, stop)."""
        parts = list(self.parts(start, stop, "raw_id"))
        return pa.concat_arrays(parts) if parts else pa.array([], RAW_TYPES[self.kind])

    def parts(self, start: int, stop: int, column: str) -> Iterator[pa.Array]:
        """Read a column of ids [start, stop), a part from each row group that has some of them."""
        for first, values in self._groups(column, lambda first, end: first < stop and start < end):
            yield values[max(0, start - first) : stop - first]

    def lookup(self, raw: Sequence[Any] | pa.Array) -> npt.NDArray[np.int64]:
        """Return the id of each raw id, -1 where unknown. The whole file is read once, a row group at a time."""
        wanted = raw if isinstance(raw, pa.Array) else as_raw(raw, self.kind)
        distinct = pc.unique(wanted)
        places: npt.NDArray[np.int32] = pc.index_in(wanted, value_set=distinct).to_numpy(zero_copy_only=False)
        return self.lookup_distinct(distinct)[places]

    def lookup_distinct(self, distinct: pa.Array) -> npt.NDArray[np.int64]:
        """Do the same for raw ids of which no two are equal."""
        ids = np.full(len(distinct), -1, np.int64)
        if not len(ids):
            return ids
        sought = None if self._key is None else _SoughtIds(distinct, self._key)
        for first, group in self._groups("raw_id", lambda *_: True):
            if sought is not None and (found := sought.places(group)) is not None:
                rows, at = found
            else:
                where = pc.index_in(group, value_set=distinct)
                rows = np.flatnonzero(where.is_valid().to_numpy(zero_copy_only=False))
                at = where.drop_null().to_numpy(zero_copy_only=False)
            ids[at] = first + rows
        return ids


class _SoughtIds:
    """Distinct raw ids in the order of their hashes, to be found among others in that order."""

    def __init__(self, raw: pa.Array, key: int):
        hashes = hash_raw_ids(raw, key)
        in_order = bool((hashes[1:] >= hashes[:-1]).all())
        self._order = np.arange(len(hashes)) if in_order else np.argsort(hashes)
        self._raw, self._hashes, self._key = raw, hashes if in_order else hashes[self._order], key
        self._ambiguous = bool((self._hashes[1:] == self._hashes[:-1]).any())

    def places(self, group: pa.Array) -> tuple[Places, Places] | None:
        """Return (places in ``group``, places of the same ids among these); None where the group is in another order."""
        if not len(group):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        hashes = hash_raw_ids(group, self._key)
        if (hashes[1:] <= hashes[:-1]).any() or self._ambiguous:
            return None  # two ids of one hash are rare
        begin = int(np.searchsorted(self._hashes, hashes[0]))  # groups follow each other in this order, so most hold few of these
        end = int(np.searchsorted(self._hashes, hashes[-1], side="right"))
        sought = self._hashes[begin:end]
        rows = np.searchsorted(hashes, sought)
        there = np.flatnonzero(hashes[rows] == sought)
        rows, at = rows[there], self._order[begin:end][there]
        equal = pc.equal(group.take(pa.array(rows)), self._raw.take(pa.array(at))).to_numpy(zero_copy_only=False)
        return rows[equal], at[equal]
