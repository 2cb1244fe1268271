"""Verify a dataset for `info --verify`: compare all that it holds with its manifest, a few dozen megabytes at a time.

The first fault is raised as UserError. First all bytes are compared with their checksums. Then their meaning is checked, because
a checksum does not notice bytes that were wrong when they were written.

In-edge lists are compared with the training edges by sums, one for each partition of destinations. A sum adds 64-bit hashes of
(source, relation, weight, destination), so it does not depend on the order of the edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c, hash_ints
from marius_lite.graph.adjacency import ARRAYS, Adjacency, source_dtype
from marius_lite.graph.damage import Progress, check_array, check_chunk, damaged, first
from marius_lite.graph.edges import CARRIED, COLUMNS, EDGES_AT_ONCE, EdgeBuckets
from marius_lite.graph.folder import DatasetFolder
from marius_lite.graph.holes import HOLES, Holes
from marius_lite.graph.manifest import training_partitions
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.graph.report import REPORT, read_report
from marius_lite.graph.verify_counts import counted_bytes, verify_counts
from marius_lite.graph.verify_nodes import node_table_bytes, verify_node_tables, verify_nodes, verify_relations
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.checksum import file_checksum
from marius_lite.storage.flat import read_array_range
from marius_lite.storage.small_arrays import chunk_of_table

LISTS_AT_ONCE = 1 << 16
"""In-edge lists that are checked at a time."""
HASH_KEY = 0x9E3779B97F4A7C15
Sums = npt.NDArray[np.uint64]
Columns = list[npt.NDArray[Any]]


def verify_dataset(dataset: DatasetFolder) -> None:
    """Check everything, with a progress bar. Raises UserError, which says the file, the place, and what to do."""
    dataset.checked.need_all()
    with progress_bar("verify", "B", _bytes_to_read(dataset)) as bar:
        _verify_files(dataset, bar.update)
        _verify_layout(dataset)
        verify_nodes(dataset, bar.update)
        _verify_edges(dataset, bar.update)
        verify_node_tables(dataset, bar.update)


def _bytes_to_read(dataset: DatasetFolder) -> int:
    """Return the bytes that are read: all files for their checksums, and then again for their meaning."""
    manifest, files = dataset.manifest, dataset.manifest.files
    edge = 4 * len(COLUMNS) + sum(np.dtype(CARRIED[name]).itemsize for name in manifest.carried)
    found = (
        sum(size for size, _ in files.values())
        + sum(dataset.size(path.relative_to(dataset.path).as_posix()) for path in dataset.name_files)
        + sum(manifest.edges.values()) * edge
    )
    if (lists := dataset.adjacency) is not None:
        found += manifest.edges["train"] * lists.edge_bytes(lists.has_weights) + 8 * (manifest.nodes + manifest.partitions)
    return found + manifest.nodes * node_table_bytes(dataset) + counted_bytes(dataset)


def _verify_edges(dataset: DatasetFolder, progress: Progress) -> None:
    """Check ``edges/``, the counts of relations, in-edge lists, and ``counts/``."""
    counts = verify_relations(dataset)
    found, sums = np.zeros((len(NODE_SPLITS), len(counts)), np.int64), (np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    for split in dataset.manifest.edges:
        stored = dataset.edges(split)
        for number, (segment, holes) in enumerate(zip(stored.segments_as_written, stored.holes)):
            edges = _EdgeCheck(dataset, segment, holes, found[NODE_SPLITS.index(split)])
            edges.run(progress)
            sums = (edges.sums, edges.gone) if split == "train" and number == 0 else sums
    total = found.sum(0)
    if (wrong := first(total != counts)) is not None:
        raise damaged(
            dataset.path / "relations.parquet", f"relation {wrong} has {counts[wrong]:,} edges there, {total[wrong]:,} in edges/"
        )
    if dataset.adjacency is not None:
        _verify_lists(dataset, dataset.adjacency, sums, progress)
    verify_counts(dataset, found, progress)


def _verify_files(dataset: DatasetFolder, progress: Progress) -> None:
    for name, (size, expected) in dataset.manifest.files.items():
        if file_checksum(dataset.path / name, size, progress) != expected:
            raise damaged(dataset.path / name, "does not match its checksum")


def _verify_layout(dataset: DatasetFolder) -> None:
    manifest, partitioning, root = dataset.manifest, dataset.partitioning, dataset.path / "zarr.json"
    found = (manifest.partitions, manifest.rows_per_partition)
    if found != (partitioning.partitions, partitioning.rows):
        raise damaged(root, f"{found[0]} partitions of {found[1]:,} nodes do not hold {manifest.nodes:,} nodes")
    training = training_partitions(manifest.node_split, manifest.training, partitioning)
    if manifest.training_partitions != training:
        raise damaged(root, f"training_partitions is {manifest.training_partitions}, {training} hold the training nodes")
    if (report := dataset.path / REPORT).exists() and not read_report(dataset.path):
        raise damaged(report, "its bytes are not those that were written, so what is known of leaks between splits is lost")


class _EdgeCheck:
    """Checks the ``edges`` of a segment of a split as they were written, and the ``holes``, which of them were removed.

    ``found``: how many edges each relation has; those of the segment are added. ``sums``, ``gone``: the sums of hashes of all
    edges and of removed ones, by destination partition.
    """

    def __init__(self, dataset: DatasetFolder, edges: EdgeBuckets, holes: Holes | None, found: npt.NDArray[np.int64]):
        self._dataset, self._edges, self._holes, self._found = dataset, edges, holes, found
        partitioning = edges.partitioning
        self.sums: Sums = np.zeros(partitioning.partitions, np.uint64)
        self.gone: Sums = np.zeros(partitioning.partitions, np.uint64)
        self._met = 0  # holes
        self._sizes = np.full(partitioning.partitions, partitioning.rows, np.int64)
        self._sizes[-1] = partitioning.size(partitioning.partitions - 1)
        self._last: Columns = []  # bucket, dst, src, rel of the last edge so far

    def run(self, progress: Progress) -> None:
        """Check the edges. Raises UserError for the first that is wrong."""
        self._check_offsets()
        for low, columns in self._edges.pieces(EDGES_AT_ONCE):
            progress(sum(values.nbytes for values in columns))
            flat = np.searchsorted(self._edges.offsets, np.arange(low, low + len(columns[0])), side="right") - 1
            self._check_ends(low, flat, columns)
            self._check_order(low, flat, columns)
            for name, values in zip(self._edges.columns[len(COLUMNS) :], columns[len(COLUMNS) :]):
                if values.dtype.kind == "f" and (wrong := first(~np.isfinite(values))) is not None:
                    raise damaged(self._edges.folder / name, f"{self._place(low, flat, wrong)} has {name} {values[wrong]}")
            self._found += np.bincount(columns[2], minlength=len(self._found))
            self._add_up(flat, columns, self.sums)
            if (at := self._holes_in(low, flat)).size:
                self._found -= np.bincount(columns[2][at], minlength=len(self._found))
                self._add_up(flat[at], [values[at] for values in columns], self.gone)
        if self._holes is not None and self._met != self._holes.offsets[-1]:
            raise damaged(self._edges.folder / HOLES, f"{self._met:,} of {self._holes.offsets[-1]:,} places are in their buckets")

    def _holes_in(self, low: int, flat: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return which of the edges from ``low`` on, in these buckets, were removed."""
        if self._holes is None or not len(flat):
            return np.empty(0, np.int64)
        before, places = self._holes.between(int(flat[0]), int(flat[-1]) + 1, low, low + len(flat))
        at, of = places - low, np.searchsorted(self._holes.offsets, before + np.arange(len(places)), side="right") - 1
        if len(at) and (at[0] < 0 or at[-1] >= len(flat) or (np.diff(at) <= 0).any() or (flat[at] != of).any()):
            raise damaged(self._edges.folder / HOLES, f"places among the edges from {low:,} on are not in order of their buckets")
        self._met += len(at)
        return at

    def _check_offsets(self) -> None:
        edges, buckets = self._edges, self._edges.partitioning.partitions**2
        check_array(self._dataset, edges.folder / "bucket_offsets", buckets + 1, np.int64)
        check_chunk(self._dataset, chunk_of_table(edges.folder / "bucket_checksums", buckets * len(edges.columns) * 4), 0)
        if edges.offsets[0] != 0:
            raise damaged(edges.folder / "bucket_offsets", f"the first bucket begins at {edges.offsets[0]}")
        if (wrong := first(np.diff(edges.offsets) < 0)) is not None:
            raise damaged(edges.folder / "bucket_offsets", f"bucket {self._bucket(wrong)} ends before it begins")
        for name in edges.columns:
            check_array(self._dataset, edges.folder / name, edges.total, np.uint32 if name in COLUMNS else None)

    def _bucket(self, flat: int) -> tuple[int, int]:
        return divmod(flat, self._edges.partitioning.partitions)

    def _place(self, low: int, flat: npt.NDArray[np.int64], place: int) -> str:
        bucket = int(flat[place])
        return f"edge {low + place - int(self._edges.offsets[bucket]):,} of bucket {self._bucket(bucket)}"

    def _check_ends(self, low: int, flat: npt.NDArray[np.int64], columns: Columns) -> None:
        i, j = np.divmod(flat, self._edges.partitioning.partitions)
        relations = np.full(len(flat), len(self._found))
        for name, values, bound in zip(COLUMNS, columns, (self._sizes[i], self._sizes[j], relations)):
            if (wrong := first(values >= bound)) is not None:
                raise damaged(
                    self._edges.folder / name,
                    f"{self._place(low, flat, wrong)} has {name} {values[wrong]}, there are {bound[wrong]:,}",
                )

    def _check_order(self, low: int, flat: npt.NDArray[np.int64], columns: Columns) -> None:
        """Check that a bucket's edges are ordered by destination, source, relation. Buckets themselves come in order."""
        src, dst, rel = columns[: len(COLUMNS)]
        keys: Columns = [flat, dst, src, rel]
        if self._last:
            keys = [np.concatenate([before, key]) for before, key in zip(self._last, keys)]
        equal, falls = np.ones(len(keys[0]) - 1, bool), np.zeros(len(keys[0]) - 1, bool)
        for key, ordered in zip(keys, (False, True, True, True)):
            falls |= equal & ordered & (key[1:] < key[:-1])
            equal &= key[1:] == key[:-1]
        if (wrong := first(falls)) is not None:
            place = wrong + 1 - (len(keys[0]) - len(flat))
            raise damaged(
                self._edges.folder, f"{self._place(low, flat, place)} is out of order: they go by destination, source, relation"
            )
        self._last = [key[-1:].copy() for key in keys]

    def _add_up(self, flat: npt.NDArray[np.int64], columns: Columns, sums: Sums) -> None:
        adjacency, partitioning = self._dataset.adjacency, self._edges.partitioning
        if adjacency is None:
            return
        i, j = np.divmod(flat, partitioning.partitions)
        by_name = dict(zip(self._edges.columns, columns))
        beside = [by_name[name] for name in _beside(adjacency)]
        hashes = _hashes(columns[0] + i * partitioning.rows, *beside, columns[1] + j * partitioning.rows)
        starts = np.flatnonzero(np.diff(flat, prepend=-1))
        np.add.at(sums, j[starts], np.add.reduceat(hashes, starts))


def _beside(adjacency: Adjacency) -> list[str]:
    """Return the names of the columns that lists have beside sources."""
    return [*(["rel"] if adjacency.has_relations else []), *(["weight"] if adjacency.has_weights else [])]


def _hashes(*columns: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return a 64-bit hash of each row of the columns."""
    found = np.zeros(len(columns[0]), np.uint64)
    for values in columns:
        bits = values.view(np.uint32) if values.dtype.kind == "f" else values
        hash_ints((found ^ bits.astype(np.uint64)).view(np.int64), HASH_KEY, found)
    return found


def _verify_lists(dataset: DatasetFolder, lists: Adjacency, sums: tuple[Sums, Sums], progress: Progress) -> None:
    """Check the in-edge lists that are stored. ``sums``: the sums of hashes of the training edges that they have, and of those
    that were removed from them, by destination partition."""
    adjacency, edges = lists.stored, dataset.edges("train").segments_as_written[0]
    partitioning, folder = adjacency.partitioning, adjacency.folder
    check_array(dataset, folder / "starts", partitioning.partitions + 1, np.int64)
    check_array(dataset, folder / "indptr", partitioning.nodes + partitioning.partitions, np.int64)
    check_array(dataset, folder / "sources", edges.total, source_dtype(partitioning.nodes))
    for name, dtype in zip(_beside(adjacency), (np.uint32 if adjacency.has_relations else np.float32, np.float32)):
        check_array(dataset, folder / name, edges.total, dtype)
    sums_bytes = partitioning.partitions * 4 * (4 if adjacency.has_weights else 3)
    check_chunk(dataset, chunk_of_table(folder / "checksums", sums_bytes), 0)
    expected = np.concatenate([[0], np.cumsum(edges.counts.sum(0))])
    if (wrong := first(adjacency.starts != expected)) is not None:
        raise damaged(
            folder / "starts",
            f"the lists of partition {wrong} begin at {adjacency.starts[wrong]:,}, but by the "
            f"training edges at {expected[wrong]:,}",
        )
    for k in range(partitioning.partitions):
        found, gone = _ListCheck(adjacency, k, lists.holes, progress).sums()
        if found != sums[0][k]:
            raise damaged(folder, f"the lists of partition {k} are not those of its training edges")
        if gone != sums[1][k]:
            raise damaged(folder / HOLES, f"those of partition {k} are not its training edges that were removed")


class _ListCheck:
    """Checks the in-edge lists of partition k."""

    def __init__(self, adjacency: Adjacency, k: int, holes: Holes | None, progress: Progress):
        self._adjacency, self._k, self._progress = adjacency, k, progress
        places = np.empty(0, np.int64) if holes is None else holes.of(np.array([k]))[0]
        self._holes = places - int(adjacency.starts[k])
        self._nodes = adjacency.partitioning.range(k)
        self._beside = _beside(adjacency)
        self._checksums = dict.fromkeys(("indptr", "sources", *self._beside), 0)

    def sums(self) -> tuple[Any, Any]:
        """Check the lists, and return the sums of the hashes of all edges and of removed ones. Raises UserError for damaged
        lists."""
        total, gone, path = np.zeros(1, np.uint64), np.zeros(1, np.uint64), self._adjacency.folder / "sources"
        last_source, last_node = np.zeros(0, np.uint32), np.zeros(0, np.int64)
        for low, indptr in self._list_bounds():
            for begin in range(int(indptr[0]), int(indptr[-1]), EDGES_AT_ONCE):
                end = min(begin + EDGES_AT_ONCE, int(indptr[-1]))
                nodes = np.searchsorted(indptr, np.arange(begin, end), side="right") - 1 + low
                sources, *beside = (self._read(name, begin, end) for name in ("sources", *self._beside))
                if (wrong := first(sources >= self._adjacency.partitioning.nodes)) is not None:
                    raise damaged(
                        path,
                        f"the list of node {nodes[wrong]:,} has source {sources[wrong]:,}, there are "
                        f"{self._adjacency.partitioning.nodes:,} nodes",
                    )
                by_edge, owner = np.concatenate([last_source, sources]), np.concatenate([last_node, nodes])
                if (wrong := first((by_edge[1:] < by_edge[:-1]) & (owner[1:] == owner[:-1]))) is not None:
                    raise damaged(path, f"the list of node {owner[wrong]:,} is not in ascending order")
                last_source, last_node = sources[-1:], nodes[-1:]
                hashes = _hashes(sources, *beside, nodes)
                total += np.add.reduce(hashes)
                gone += np.add.reduce(hashes[self._holes[(self._holes >= begin) & (self._holes < end)] - begin])
        for name, checksum in self._checksums.items():
            self._adjacency.check(self._k, ARRAYS.index(name), checksum)
        return total[0], gone[0]

    def _list_bounds(self) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
        """Read where the lists begin, some at a time. Yields (first node, the begins of the lists and the end of the last)."""
        adjacency, edges = self._adjacency, int(np.diff(self._adjacency.starts)[self._k])
        base, size = self._k * (adjacency.partitioning.rows + 1), len(self._nodes)
        for low in range(0, size, LISTS_AT_ONCE):
            high = min(low + LISTS_AT_ONCE, size)
            indptr = read_array_range(adjacency.folder / "indptr", base + low, base + high + 1)
            fresh = indptr[1 if low else 0 :]
            self._progress(fresh.nbytes)
            self._checksums["indptr"] = crc32c(fresh.view(np.uint8), self._checksums["indptr"])
            wrong = first((np.diff(indptr) < 0) | (indptr[1:] > edges))
            if wrong is None and ((low == 0 and indptr[0] != 0) or (high == size and indptr[-1] != edges)):
                wrong = 0 if low == 0 and indptr[0] != 0 else high - low - 1
            if wrong is not None:
                raise damaged(
                    adjacency.folder / "indptr",
                    f"the list of node {self._nodes[low + wrong]:,} is not inside the {edges:,} edges of partition {self._k}",
                )
            yield self._nodes[low], indptr

    def _read(self, name: str, begin: int, end: int) -> npt.NDArray[Any]:
        start = int(self._adjacency.starts[self._k])
        values = read_array_range(self._adjacency.folder / name, start + begin, start + end)
        self._checksums[name] = crc32c(values.view(np.uint8), self._checksums[name])
        self._progress(values.nbytes)
        return values
