"""Read in-edge lists by partition: for each node the sources of the training edges that lead to it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import append_in_edges, crc32c, merge_in_edges
from marius_lite.errors import UserError
from marius_lite.graph.checked import CheckedFiles
from marius_lite.graph.edges import COLUMNS, EDGES_AT_ONCE, EdgeBuckets
from marius_lite.graph.holes import Holes, closed_up
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.engine import empty_for_range
from marius_lite.storage.flat import read_array_range
from marius_lite.storage.small_arrays import read_table

ADJACENCY = Path("adjacency/in")
ARRAYS = ("indptr", "sources", "rel", "weight")
DTYPES = {"indptr": np.int64, "rel": np.uint32, "weight": np.float32}
Lists = dict[str, npt.NDArray[Any]]  # some of the ARRAYS by name


def source_dtype(nodes: int) -> np.dtype[Any]:
    """Return the dtype of a graph's node ids in the lists: uint32 where they fit, else uint64."""
    return np.dtype(np.uint32 if nodes <= 1 << 32 else np.uint64)


def checksum_columns(has_weights: bool) -> int:
    """Return how many checksums a partition has: one for each of ARRAYS, but for the last one only where edges have weights."""
    return len(ARRAYS) if has_weights else len(ARRAYS) - 1


def as_factors(weights: npt.NDArray[np.float32], unit: float) -> npt.NDArray[np.float32]:
    """Turn weights, where they are, into what neighbours count: weights divided by ``unit``, and 0 for those below 0."""
    np.maximum(weights, 0, out=weights)
    weights /= np.float32(unit)
    return weights


@dataclass(frozen=True, slots=True)
class PartitionLists:
    """The in-edges of one partition's nodes.

    ``indptr``: int64 (size + 1,). The list of the partition's i-th node is [indptr[i], indptr[i + 1]), as long as its in-degree.
    ``sources``: node ids, uint32 or uint64 (edges,), ascending inside a list. Parallel edges repeat them.
    ``rel``: the edges' relation ids, uint32 (edges,). None where there is one relation.
    ``weights``: the edges' weights, float32 (edges,). None where edges have none, or they were not asked for.
    ``factors``: what neighbours count, float32 (edges,). None where all count alike.
    ``coming``: how many neighbours of a node in-edges come from, as `in_degrees` counts them, float32 (size,), where lists of
    both ends of edges tell that. None for others.
    """

    indptr: npt.NDArray[np.int64]
    sources: npt.NDArray[Any]
    rel: npt.NDArray[np.uint32] | None
    weights: npt.NDArray[np.float32] | None = None
    factors: npt.NDArray[np.float32] | None = None
    coming: npt.NDArray[np.float32] | None = None

    @property
    def carried(self) -> npt.NDArray[np.uint32] | None:
        """The 32 bits that samplers hand on with each edge: of its factor where it has one, else of its relation."""
        return self.rel if self.factors is None else self.factors.view(np.uint32)


class Adjacency:
    """The in-edge lists in a dataset's folder ``adjacency/in``.

    ``has_weights``: whether edges have weights. ``checked``: the dataset's files, which check where the lists begin and what
    their checksums are. It is None while preprocess makes them. ``edges``: where the lists in the folder are those of the first
    segment of the training edges alone, all of these. What other segments have is then merged into lists that are read.
    ``as_written``: whether edges that were removed later are read too. ``unit``: see `weighing`.
    """

    unit = 0.0

    def __init__(
        self,
        folder: Path,
        partitioning: Partitioning,
        relations: int,
        has_weights: bool = False,
        checked: CheckedFiles | None = None,
        edges: EdgeBuckets | None = None,
        as_written: bool = False,
    ):
        self.folder = folder
        self.partitioning = partitioning
        self.has_relations = relations > 1
        self.has_weights = has_weights
        self._checked = checked
        self._later = edges.segments[1:] if edges else None
        self._stored = edges.segments[0].partitioning if edges else partitioning
        self.holes = None if as_written else Holes.find(folder, self._stored.partitions, checked)

    @property
    def stored(self) -> Adjacency:
        """The lists that are in the folder, with edges that were removed later."""
        return Adjacency(self.folder, self._stored, 1 + self.has_relations, self.has_weights, self._checked, as_written=True)

    def weighing(self, unit: float) -> Adjacency:
        """Return the same lists with weights divided by ``unit`` as factors, 0 for those below 0, and without relations."""
        other = copy.copy(self)
        other.unit = unit
        return other

    @property
    def weighs(self) -> bool:
        """Whether lists are read with factors."""
        return self.unit > 0

    def edge_bytes(self, weights: bool = False) -> int:
        """Return the bytes of one in-edge: its source, its relation where there are several, its ``weights`` where it is read."""
        return source_dtype(self.partitioning.nodes).itemsize + 4 * (self.has_relations or self.weighs) + 4 * weights

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each partition's lists start among all sources: int64 (p + 1,)."""
        left = self._stored_starts if self.holes is None else self._stored_starts - self.holes.offsets
        if self._later is None:
            return left
        counts = np.zeros(self.partitioning.partitions, np.int64)
        for each in (np.diff(left), *(segment.counts.sum(0) for segment in self._later)):
            counts[: len(each)] += each
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def _stored_starts(self) -> npt.NDArray[np.int64]:
        if self._checked:
            self._checked.check(self.folder / "starts")
        return read_array_range(self.folder / "starts", 0, self._stored.partitions + 1)

    @cached_property
    def _checksums(self) -> npt.NDArray[np.uint32]:
        if self._checked:
            self._checked.check(self.folder / "checksums")
        return read_table(self.folder / "checksums", np.uint32, (-1, checksum_columns(self.has_weights)))

    @cached_property
    def held(self) -> npt.NDArray[np.int64]:
        """How many in-edges of each partition are in memory where its lists are: removed ones too, int64 (p,)."""
        held = np.diff(self.starts)
        if self.holes is not None:
            held[: self._stored.partitions] += np.diff(self.holes.offsets)
        return held

    def merging_bytes(self, weights: bool = False) -> int:
        """Return what reading a partition's lists takes beside these, at most: edges of later segments become lists first."""
        if not self._later:
            return 0
        bounds, edge, column = 8 * (self.partitioning.rows + 1), self.edge_bytes(weights), 4 * (len(COLUMNS) + weights)
        tail, most = np.zeros(self.partitioning.partitions, np.int64), np.zeros(self.partitioning.partitions, np.int64)
        for segment in reversed(self._later):
            counts = np.zeros_like(tail)
            counts[: segment.partitioning.partitions] = segment.counts.sum(0)
            listing = tail * edge + counts * (edge + column) + EDGES_AT_ONCE * column + 4 * bounds
            most = np.maximum(most, np.maximum(listing, 2 * (tail + counts) * edge + 4 * bounds))
            tail += counts
        return int(np.maximum(most - self.held * edge, tail * edge + 3 * bounds).max())

    def read_bytes(self, k: int, weights: bool = False) -> int:
        """Return the bytes that reading partition k's lists moves."""
        return self.edges(k) * self.edge_bytes(weights) + (self.partitioning.size(k) + 1) * np.dtype(np.int64).itemsize

    def edges(self, k: int) -> int:
        """Return how many in-edges partition k's nodes have."""
        return int(self.starts[k + 1] - self.starts[k])

    def read(self, k: int, weights: bool = False, own_pages: bool = False, *, relations: bool = True) -> PartitionLists:
        """Read the lists of partition k's nodes, past the page cache. ``weights``, ``relations``: whether to read those too.

        ``own_pages``: whether each array gets memory pages of its own, so that it can be pinned. Raises UserError where the bytes
        are not those that preprocess wrote, and for weights that cannot be factors.
        """
        named = relations and self.has_relations and not self.weighs
        arrays = ("indptr", "sources", *(["rel"] if named else []), *(["weight"] if weights or self.weighs else []))
        if self._later is None and self.holes is None:
            found = {name: self._read(k, name, self._empty(name, *self._range(k, name), own_pages)) for name in arrays}
        else:
            found = self._merged(k, arrays, self._later or (), own_pages)
        if self.weighs:
            return PartitionLists(found["indptr"], found["sources"], None, None, self._factors(k, found["weight"]))
        return PartitionLists(found["indptr"], found["sources"], found.get("rel"), found.get("weight"))

    def _factors(self, k: int, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Divide weights by the unit, where they are. Those below 0 become 0. Raises UserError for one that is not finite."""
        if not np.isfinite([weights.min(initial=0), weights.max(initial=0)]).all():
            raise UserError(
                f"{self.folder}: the edges into partition {k} have weights that are not finite: `model.weight_unit` takes finite "
                "weights: set it to 0, so that all edges count alike, or preprocess edges with such weights"
            )
        return as_factors(weights, self.unit)

    def require_weights(self, k: int, weights: npt.NDArray[np.float32]) -> None:
        """Raise UserError unless neighbours can be drawn by the weights of partition k's edges."""
        if len(weights) and not (weights.min() >= 0 and weights.max() < np.inf):
            raise UserError(
                f"{self.folder}: the edges into partition {k} have weights from {weights.min()} to {weights.max()}: "
                "`sampling.weighted` takes finite weights of 0 or more: set it to false, or preprocess edges with such weights"
            )

    def _range(self, k: int, array: str) -> tuple[int, int]:
        """Return where the entries of partition k are in one of the stored ARRAYS."""
        if array == "indptr":
            first = k * (self._stored.rows + 1)
            return first, first + self._stored.size(k) + 1
        return int(self._stored_starts[k]), int(self._stored_starts[k + 1])

    def _dtype(self, array: str) -> np.dtype[Any]:
        return source_dtype(self.partitioning.nodes) if array == "sources" else np.dtype(DTYPES[array])

    def _empty(self, array: str, start: int, stop: int, own_pages: bool) -> npt.NDArray[Any]:
        return empty_for_range(self._dtype(array), start, stop, own_pages)

    def _read(self, k: int, array: str, out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Read one of the stored ARRAYS of partition k into ``out``, once its files are on this machine."""
        path, (start, stop) = self.folder / array, self._range(k, array)
        if self._checked:
            self._checked.need_range(path, start, stop)
        values = read_array_range(path, start, stop, out)
        self.check(k, ARRAYS.index(array), crc32c(values.view(np.uint8)))
        return values

    def _merged(
        self, k: int, arrays: Sequence[str], later: Sequence[EdgeBuckets], own_pages: bool
    ) -> dict[str, npt.NDArray[Any]]:
        """Return the ``arrays`` of partition k: what is stored, but for its holes, merged with the edges of ``later``."""
        size, dtypes = self.partitioning.size(k), {name: self._dtype(name) for name in arrays}
        tail = lists_of_all(later, self.partitioning, k, dtypes)
        total = int(self.starts[k + 1] - self.starts[k])
        holes = self._holes_of(k)
        out = {name: self._empty(name, 0, total + len(holes), own_pages) for name in arrays[1:]}
        out["indptr"] = self._empty("indptr", 0, size + 1, own_pages)
        if k < self._stored.partitions:  # what is stored is read to where the merge has written all before once it gets there
            added = len(tail["sources"])
            stored = {name: closed_up(self._read(k, name, out[name][added:]), holes) for name in arrays[1:]}
            stored["indptr"] = self._read(k, "indptr", np.empty(self._stored.size(k) + 1, np.int64))
            stored["indptr"] -= np.searchsorted(holes, stored["indptr"])
            out |= {name: out[name][:total] for name in arrays[1:]}
        else:
            stored = {name: out[name][:0] for name in arrays[1:]} | {"indptr": np.zeros(1, np.int64)}
        return merged(stored, tail, out)

    def _holes_of(self, k: int) -> npt.NDArray[np.int64]:
        """Return which of the stored in-edges of partition k were removed."""
        if self.holes is None or k >= self._stored.partitions:
            return np.empty(0, np.int64)
        places, _ = self.holes.of(np.array([k]))
        return places - int(self._stored_starts[k])

    def check(self, k: int, array: int, checksum: int) -> None:
        """Raise UserError unless ``checksum`` is the CRC-32C that preprocess wrote for one of the ARRAYS of partition k."""
        if checksum != int(self._checksums[k, array]):
            raise UserError(
                f"{self.folder / ARRAYS[array]}: the lists of partition {k} do not match their checksum, the dataset "
                "was changed: make it again with `marius-lite preprocess`"
            )


def sums_by_list(indptr: npt.NDArray[np.int64], values: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return the sum of each list's ``values``, float64 (lists,). Values begin with those of the first list.

    Some lists are summed at a time: their edges are numbered for it, which takes several times as much memory as the values.
    """
    ends = indptr - indptr[0]
    out, low = np.empty(len(ends) - 1), 0
    while low < len(out):
        high = max(low + 1, int(np.searchsorted(ends, ends[low] + EDGES_AT_ONCE, side="right")) - 1)
        named = np.repeat(np.arange(high - low), np.diff(ends[low : high + 1]))
        out[low:high] = np.bincount(named, values[ends[low] : ends[high]], high - low)
        low = high
    return out


def lists_of(
    edges: EdgeBuckets, partitioning: Partitioning, k: int, dtypes: Mapping[str, np.dtype[Any]], turned: bool = False
) -> Lists:
    """Make the in-edge lists of partition k of a graph's ``partitioning`` from edges of one segment: arrays of these ``dtypes``.

    Buckets of a column come in order of their sources, and each edge is appended to the list of its destination. ``turned``: each
    edge counts as its reverse; those of a row of buckets then come in order of what were their destinations.
    """
    p, size = edges.partitioning, partitioning.size(k)
    ends = np.zeros(size + 1, np.int64)
    columns = (*COLUMNS, *(["weight"] if "weight" in dtypes else []))
    every, own, to = range(p.partitions), range(k, k + 1), 0 if turned else 1
    where = (own, every) if turned else (every, own)
    pieces = list(edges.block(*where, EDGES_AT_ONCE, columns)) if k < p.partitions else []
    counts = np.zeros(size, np.int64)
    for piece in pieces:
        counts += np.bincount(piece.columns[to], minlength=size)
    cursors = ends[1:]  # where each list starts; once it is filled, where it ends
    cursors[1:] = np.cumsum(counts[:-1])
    found: Lists = {name: np.empty(int(counts.sum()), dtype) for name, dtype in dtypes.items()} | {"indptr": ends}
    for piece in pieces:
        rel, *weight = piece.columns[2:]
        append_in_edges(
            piece.columns[1 - to],
            piece.columns[to],
            rel,
            piece.buckets % p.partitions * p.partitions + piece.buckets // p.partitions if turned else piece.buckets,
            piece.ends,
            p.partitions,
            p.rows,
            k * p.rows,
            cursors,
            found["sources"],
            found.get("rel"),
            weight[0] if weight else None,
            found.get("weight"),
        )
    return found


def lists_of_all(
    segments: Sequence[EdgeBuckets], partitioning: Partitioning, k: int, dtypes: Mapping[str, np.dtype[Any]], turned: bool = False
) -> Lists:
    """Make the in-edge lists of partition k from the edges of all these segments: see `lists_of`."""
    empty = np.zeros(partitioning.size(k) + 1, np.int64)
    found: Lists = {name: np.zeros(0, dtype) for name, dtype in dtypes.items()} | {"indptr": empty}
    for segment in reversed(segments):
        part = lists_of(segment, partitioning, k, dtypes, turned)
        found = merged(part, found, _room_for(part, found)) if len(found["sources"]) else part
    return found


def _room_for(before: Lists, later: Lists) -> Lists:
    """Return arrays for both lists together."""
    room: Lists = {name: np.empty(len(values) + len(later[name]), values.dtype) for name, values in before.items()}
    return room | {"indptr": np.empty_like(later["indptr"])}


def merged(before: Lists, later: Lists, out: Lists) -> Lists:
    """Merge the lists of the same nodes, of which ``later`` may have more, into the arrays ``out``, and return these."""
    arrays: list[Any] = [tuple(each.get(name) for name in ARRAYS) for each in (before, later, out)]
    merge_in_edges(arrays[0], arrays[1], *arrays[2])
    return out
