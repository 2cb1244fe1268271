"""Read the edges of one split by bucket, straight from disk. Their checksums are checked at every read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c_stretches
from marius_lite.graph.checked import CheckedFiles
from marius_lite.graph.edge_segment import EdgeSegment, Places, requests
from marius_lite.graph.holes import Holes
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.engine import RangeRoom

COLUMNS = ("src", "dst", "rel")
CARRIED: dict[str, type[np.generic]] = {"weight": np.float32, "time": np.int64}  # what edges may have besides, as it is stored
EDGES_AT_ONCE = 1 << 18
"""Edges that are read at a time where a pass goes through all of them."""
Offsets = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]
Column = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class EdgePiece:
    """Edges of several buckets, one bucket after the other. Those of bucket ``buckets[s]`` = i * p + j end at ``ends[s]``.

    A bucket stands there once for each segment that it has edges in. They are in order (dst, src, rel) up to each of the ends.
    """

    buckets: Places
    ends: Places
    columns: list[npt.NDArray[Any]]

    def bucket_of_each(self) -> Places:
        """Return for each edge the number of its bucket."""
        return np.repeat(self.buckets, np.diff(self.ends, prepend=0))

    def node_ids(self, partitioning: Partitioning) -> tuple[Offsets, Offsets]:
        """Turn the columns src and dst, which come first, into node ids in place, and return them. Ids have to fit uint32."""
        counts = np.diff(self.ends, prepend=0)
        src, dst = self.columns[:2]
        for ends, parts in zip((src, dst), np.divmod(self.buckets, partitioning.partitions)):
            ends += np.repeat((parts * partitioning.rows).astype(np.uint32), counts)
        return src, dst


class EdgeBuckets:
    """The edges in a dataset's folder ``edges/<split>``. A bucket is a pair (source partition, destination partition).

    The columns src and dst are offsets inside the partitions, rel are relation ids; all uint32. Inside a bucket edges are ordered
    by (dst, src, rel), those of one segment after those of another. ``extra``: names of further columns; only `block`, `pieces`
    and `stream_columns` read them. ``checked``: the dataset's files, which check where the buckets begin and what their checksums
    are; None while preprocess makes them. ``segments``: the folders inside ``folder`` of which the split consists, each with the
    nodes there were when it was written; None: the folder itself. ``as_written``: whether removed edges are read too.
    """

    def __init__(
        self,
        folder: Path,
        partitioning: Partitioning,
        extra: Sequence[str] = (),
        checked: CheckedFiles | None = None,
        segments: Sequence[tuple[str, int]] | None = None,
        as_written: bool = False,
    ):
        self.folder = folder
        self.partitioning = partitioning
        self.columns = (*COLUMNS, *extra)
        self._checked, self._named = checked, segments or (("", partitioning.nodes),)
        self._segments = [
            EdgeSegment(folder / name, -(-nodes // partitioning.rows), self.columns, checked, as_written)
            for name, nodes in self._named
        ]

    @cached_property
    def segments(self) -> list[EdgeBuckets]:
        """Each segment as a split of its own, with the partitions it was written in."""
        return self._each(as_written=False)

    @cached_property
    def segments_as_written(self) -> list[EdgeBuckets]:
        """Each segment with the edges that were removed from it later."""
        return self._each(as_written=True)

    def _each(self, as_written: bool) -> list[EdgeBuckets]:
        rows, extra = self.partitioning.rows, self.columns[len(COLUMNS) :]
        return [
            EdgeBuckets(self.folder / name, Partitioning(nodes, 1, rows), extra, self._checked, None, as_written)
            for name, nodes in self._named
        ]

    @property
    def holes(self) -> list[Holes | None]:
        """The edges that were removed from each segment."""
        return [segment.holes for segment in self._segments]

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """How many edges come before each bucket: int64 (p * p + 1,), bucket (i, j) at index i * p + j."""
        if len(self._segments) == 1 and self._segments[0].partitions == self.partitioning.partitions:
            return self._segments[0].left
        counts = [each.counts(self.partitioning.partitions) for each in self._segments]
        return np.concatenate([[0], np.cumsum(np.sum(counts, 0))]).astype(np.int64)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many edges each bucket has, (p, p)."""
        p = self.partitioning.partitions
        return np.diff(self.offsets).reshape(p, p)

    @property
    def total(self) -> int:
        """How many edges the split has."""
        return int(self.offsets[-1])

    def read(self, i: int, j: int) -> tuple[Offsets, Offsets, Offsets]:
        """Read (src, dst, rel) of bucket (i, j). Raises UserError where the bytes are not those that preprocess wrote."""
        size = int(self.counts[i, j])
        src, dst, rel = (np.empty(size, np.uint32) for _ in COLUMNS)
        self.read_into([(i, j)], src, dst, rel)
        return src, dst, rel

    def stream_columns(self, i: int, j: int, edges: int, columns: Sequence[str]) -> Iterator[list[npt.NDArray[Any]]]:
        """Read some ``columns`` of bucket (i, j), at most ``edges`` edges at a time. The bucket may have any size."""
        return (piece.columns for piece in self.block(range(i, i + 1), range(j, j + 1), edges, columns))

    def pieces(self, edges: int) -> Iterator[tuple[int, list[npt.NDArray[Any]]]]:
        """Read all columns of all buckets, at most ``edges`` edges at a time. Yields (how many edges come before, columns)."""
        every, before = range(self.partitioning.partitions), 0
        for piece in self.block(every, every, edges, self.columns):
            yield before, piece.columns
            before += len(piece.columns[0])

    def block(
        self, rows: range, columns: range, edges: int, names: Sequence[str], rooms: Sequence[RangeRoom] | None = None
    ) -> Iterator[EdgePiece]:
        """Read the columns ``names`` of buckets (i, j), i in ``rows``, j in ``columns``, row after row.

        At most ``edges`` edges are read at a time. What lies side by side on disk is read at once. The checksum of a bucket is
        compared before its last edges are yielded. Raises UserError where the bytes are not those that preprocess wrote. Takes 32
        bytes a bucket, and 40 for each further segment, beside the edges. ``rooms``: one for each of ``names``, for callers that
        keep nothing of a piece when they take the next: it is overwritten.
        """
        return (piece for _, piece in self._pieces(self._stretches(rows, columns), edges, names, rooms))

    def _pieces(
        self, there: _Stretches, edges: int, names: Sequence[str], rooms: Sequence[RangeRoom] | None = None
    ) -> Iterator[tuple[Places, EdgePiece]]:
        """Read some columns of stretches, ``edges`` at a time. Yields which stretches a piece has edges of, and the piece."""
        counts, ends = there.counts, np.cumsum(there.counts)
        begun = np.zeros(len(names), np.uint32)  # checksums so far of a stretch that the last piece cut
        for low in range(0, int(counts.sum()), edges):
            high = min(low + edges, int(ends[-1]))
            first, last = np.searchsorted(ends, [low, high - 1], side="right").tolist()
            part, stops = there.part(slice(first, last + 1)), ends[first : last + 1]
            part.begins[0] += max(0, low - int(stops[0] - counts[first]))
            piece = EdgePiece(part.buckets, np.minimum(stops, high) - low, [])
            sums = np.zeros((len(names), len(stops)), np.uint32)
            sums[:, 0] = begun
            for number, (name, checksums) in enumerate(zip(names, sums)):
                piece.columns.append(self._read_stretches(name, part, piece.ends, rooms[number] if rooms else None))
                crc32c_stretches(piece.columns[-1].view(np.uint8), piece.ends, piece.columns[-1].itemsize, checksums)
            whole = len(stops) - int(stops[-1] > high)
            self._check_all(part.part(slice(whole)), names, sums[:, :whole])
            begun = sums[:, -1] if whole < len(stops) else np.zeros_like(begun)
            which, piece = _left(piece, self._holes(part, piece.ends))
            if len(which):
                yield first + which, piece

    def _holes(self, part: _Stretches, ends: Places) -> Places:
        """Return where removed edges are among those of stretches one after the other, of which the s-th ends at ``ends[s]``."""
        sizes, found = np.diff(ends, prepend=0), [np.empty(0, np.int64)]
        shifts = ends - sizes - part.begins
        for s, segment in enumerate(self._segments):
            if segment.holes is not None:
                own = np.flatnonzero(part.segments == s)
                cut = sizes[own] < np.diff(segment.offsets)[part.flats[own]]
                places, of = segment.holes.of(part.flats[own[~cut]])
                found.append(places + shifts[own[~cut][of]])
                for one in own[cut]:
                    flat, begin = int(part.flats[one]), int(part.begins[one])
                    _, places = segment.holes.between(flat, flat + 1, begin, begin + int(sizes[one]))
                    found.append(places + shifts[one])
        return np.sort(np.concatenate(found))

    def _stretches(self, rows: range, columns: range) -> _Stretches:
        """Return where the edges of these buckets are, bucket after bucket, segment after segment; none that is empty."""
        parts = [self._of_segment(s, rows, columns) for s in range(len(self._segments))]
        if len(parts) == 1:
            return parts[0]
        order = np.argsort(np.concatenate([part.buckets for part in parts]), kind="stable")
        return _Stretches(*(np.concatenate(each)[order] for each in zip(*(part.arrays for part in parts), strict=True)))

    def _of_segment(self, s: int, rows: range, columns: range) -> _Stretches:
        segment, now = self._segments[s], self.partitioning.partitions
        i, j = (np.arange(each.start, min(each.stop, segment.partitions)) for each in (rows, columns))
        flats = (i[:, None] * segment.partitions + j).reshape(-1)
        counts = segment.offsets[flats + 1] - segment.offsets[flats]
        flats, counts = flats[counts > 0], counts[counts > 0]
        buckets = flats if segment.partitions == now else flats // segment.partitions * now + flats % segment.partitions
        return _Stretches(buckets, np.broadcast_to(np.int64(s), flats.shape), flats, segment.offsets[flats], counts)

    def _read_stretches(self, name: str, part: _Stretches, ends: Places, room: RangeRoom | None) -> npt.NDArray[Any]:
        """Read several stretches of a column, one after the other. The s-th ends at ``ends[s]`` in the result."""
        places = np.concatenate([[0], ends[:-1]])
        sizes, first, shifts = ends - places, self._segments[int(part.segments[0])], part.begins - places
        if (part.segments == part.segments[0]).all() and (shifts == shifts[0]).all():
            begin, end = int(part.begins[0]), int(part.begins[0] + ends[-1])
            there = None if room is None else room.empty_for_range(first.dtype(name), begin, end)
            return first.read_between(name, begin, end, there)
        out = np.empty(int(ends[-1]), first.dtype(name))
        for s, segment in enumerate(self._segments):
            own = part.segments == s
            if own.any():
                segment.read(name, part.begins[own], places[own], sizes[own], out)
        return out

    def read_into(
        self, buckets: Iterable[tuple[int, int]], src: Offsets, dst: Offsets, rel: Offsets, weight: Floats | None = None
    ) -> int:
        """Read buckets into the given arrays, one after the other. Returns the number of edges read. ``weight``: where weights
        are read to, too.

        One request reads buckets that lie side by side on disk: in the same order here, or small ones in any order.
        Raises UserError where the bytes are not those that preprocess wrote.
        """
        outs = dict(zip((*COLUMNS, "weight"), (src, dst, rel, *(() if weight is None else (weight,)))))
        i, j = np.array([*buckets], np.int64).reshape(-1, 2).T
        flats = np.stack([segment.flat(i, j) for segment in self._segments])
        counts = np.stack([np.where(f >= 0, np.diff(s.left)[f], 0) for f, s in zip(flats, self._segments)])
        total = counts.sum(0)
        places = np.cumsum(total) - total + np.cumsum(counts, 0) - counts  # where each stretch begins here
        for segment, flat, sizes, starts in zip(self._segments, flats, counts, places):
            own = np.flatnonzero(flat >= 0)
            if segment.holes is not None:
                self._read_left(segment, flat[own], starts[own], outs)
                continue
            side_by_side = len(self._segments) == 1
            for part in requests(flat[own], sizes[own], side_by_side):
                part = own[part]
                ends, sums = np.cumsum(sizes[part]), np.zeros((len(outs), len(part)), np.uint32)
                for (name, out), checksums in zip(outs.items(), sums):
                    read = self._read_request(segment, name, flat[part], starts[part], out)
                    crc32c_stretches(read.view(np.uint8), ends, read.itemsize, checksums)
                segment.check(flat[part], [*outs], sums)
        return int(total.sum())

    def _read_left(self, segment: EdgeSegment, flats: Places, starts: Places, outs: Mapping[str, Column]) -> None:
        """Read the edges of buckets that were not removed from a segment to their places in ``outs``."""
        order = np.argsort(flats, kind="stable")
        order = order[np.diff(segment.offsets)[flats[order]] > 0]
        flats, cursors = flats[order], starts[order]
        number = np.full(len(flats), self._segments.index(segment))
        there = _Stretches(flats, number, flats, segment.offsets[flats], np.diff(segment.offsets)[flats])
        for which, piece in self._pieces(there, EDGES_AT_ONCE, [*outs]):
            sizes = np.diff(piece.ends, prepend=0)
            at = np.arange(int(piece.ends[-1])) + np.repeat(cursors[which] - (piece.ends - sizes), sizes)
            for out, values in zip(outs.values(), piece.columns, strict=True):
                out[at] = values
            cursors[which] += sizes

    @staticmethod
    def _read_request(segment: EdgeSegment, name: str, flats: Places, starts: Places, out: Column) -> Column:
        """Read buckets that lie side by side on disk to their places in ``out``; return them as they lie on disk."""
        first, last = int(segment.offsets[flats[0]]), int(segment.offsets[flats[-1] + 1])
        sizes = segment.offsets[flats + 1] - segment.offsets[flats]
        together = bool((np.diff(starts) == sizes[:-1]).all())
        place = out[int(starts[0]) :][: last - first] if together else None
        read = segment.read_between(name, first, last, place)
        if place is None:
            out[np.arange(last - first) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)] = read
        return read

    def _check_all(self, part: _Stretches, names: Sequence[str], checksums: npt.NDArray[np.uint32]) -> None:
        """Raise UserError for the first of ``checksums`` (names, stretches) that is not the one that was written."""
        for s, segment in enumerate(self._segments):
            own = part.segments == s
            segment.check(part.flats[own], names, checksums[:, own])


def _left(piece: EdgePiece, holes: Places) -> tuple[Places, EdgePiece]:
    """Return a piece without the edges at ``holes``, ascending, and which of its stretches have edges left."""
    if not len(holes):
        return np.arange(len(piece.ends)), piece
    keep = np.ones(int(piece.ends[-1]), bool)
    keep[holes] = False
    ends = piece.ends - np.searchsorted(holes, piece.ends)
    which = np.flatnonzero(np.diff(ends, prepend=0))
    return which, EdgePiece(piece.buckets[which], ends[which], [values[keep] for values in piece.columns])


@dataclass(frozen=True, slots=True)
class _Stretches:
    """Stretches of edges: the bucket of each, its segment, its index there, where it begins there, how many edges it has."""

    buckets: Places
    segments: Places
    flats: Places
    begins: Places
    counts: Places

    @property
    def arrays(self) -> tuple[Places, ...]:
        return self.buckets, self.segments, self.flats, self.begins, self.counts

    def part(self, which: slice) -> _Stretches:
        """Return some of them; where they begin is a copy."""
        return _Stretches(
            self.buckets[which], self.segments[which], self.flats[which], self.begins[which].copy(), self.counts[which]
        )
