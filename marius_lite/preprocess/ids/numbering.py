"""Keys to ids. Distinct raw ids are numbered in the order of (keyed hash, raw id): a random permutation that depends on the data
and the seed alone. Partitions are ranges of node ids, so they are random too.

    bitmap --hash, sort, a stretch of hashes at a time--> raw ids in order
    runs of closed tables --merge--> raw ids in order, and for each run the ids of its places

From what is kept on disk, the array with the id of each key can be made for one dictionary at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marius_lite._native import IntRunMerge, StringRunMerge, hashes_of_marked, sort_records, unhash_ints
from marius_lite.files import read_numbers
from marius_lite.graph.ids import order_key
from marius_lite.preprocess.disk.spool import Ids, SpooledEdges
from marius_lite.preprocess.ids import keys
from marius_lite.preprocess.ids.id_runs import IdRun, IdRunWriter, id_run_bytes
from marius_lite.preprocess.ids.keys import Dictionaries
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.background import read_ahead

MOST_BUFFER, LEAST_BUFFER = 4 << 20, 1 << 14
BUFFERS = 3  # of each run that is merged: its values, their ends, the ids they get
MERGED_AT_ONCE = 1 << 18
HASH_BYTES = 8
WIDE_BYTES = 8  # of an id while runs are merged; in the end it may take fewer


@dataclass(frozen=True)
class Numbering:
    """``raw_ids``: in order of id. ``numbers``: where there are several dictionaries, the file of ids of each one's run."""

    dictionaries: Dictionaries
    raw_ids: IdRun
    numbers: tuple[Path, ...]

    @property
    def nodes(self) -> int:
        return self.raw_ids.count

    def ids(self, dictionary: int) -> Ids:
        """Return the id of each key of a dictionary, uint32 or uint64. Keys that do not occur have any id."""
        if self.dictionaries.bound:
            ids = np.zeros(self.dictionaries.bound, np.uint32)
            first = 0
            for raw in self.raw_ids.read():
                ids[raw.to_numpy()] = ids_from(first, len(raw), np.uint32)
                first += len(raw)
            return ids
        rank: Ids = read_numbers(self.dictionaries.rank_path(dictionary), np.uint32)
        return read_numbers(self.numbers[dictionary], id_dtype(self.nodes))[rank] if self.numbers else rank


def with_ids(edges: Iterator[SpooledEdges], numbering: Numbering) -> Iterator[tuple[SpooledEdges, Ids]]:
    """Return spooled edges, block by block, each with the id of each key of its dictionary."""
    dictionary, ids = -1, np.empty(0, np.uint32)
    for spooled in read_ahead(edges):
        if spooled.dictionary != dictionary:
            dictionary, ids = spooled.dictionary, numbering.ids(spooled.dictionary)
        yield spooled, ids


def number_ids(dictionaries: Dictionaries, seed: int, folder: Path, memory: int, threads: int) -> Numbering:
    """Number every distinct raw id. The files of the numbering lie in ``folder``. ``memory`` in bytes."""
    if dictionaries.bound:
        return Numbering(dictionaries, order_dense(dictionaries, seed, folder, memory, threads), ())
    if len(dictionaries.runs) == 1:
        return Numbering(dictionaries, dictionaries.runs[0], ())
    return _merge(dictionaries, seed, folder, memory)


def order_dense(dictionaries: Dictionaries, seed: int, folder: Path, memory: int, threads: int) -> IdRun:
    """Write the integers of a bitmap in the order of their hashes, in as many stretches of hashes as the memory needs."""
    bitmap, key = read_numbers(dictionaries.bitmap_path, np.uint64), order_key(seed)
    stretches = -(-3 * HASH_BYTES * int(np.bitwise_count(bitmap).sum()) // memory) or 1
    ends = [2**64 * (s + 1) // stretches - 1 for s in range(stretches)]
    writer = IdRunWriter(folder, "int")
    for first, last in zip([0, *(end + 1 for end in ends)], ends):
        hashes = np.empty(hashes_of_marked(bitmap, key, first, last, np.empty(0, np.uint64)), np.uint64)
        hashes_of_marked(bitmap, key, first, last, hashes)
        sort_records(hashes[:, None], threads)
        raw = np.empty(len(hashes), np.int64)
        unhash_ints(hashes, key, raw)
        writer.append_ints(raw)
    return writer.close()


def _merge(dictionaries: Dictionaries, seed: int, folder: Path, memory: int) -> Numbering:
    """Merge the runs of several dictionaries, in which the same raw id may stand, into one."""
    runs, total = dictionaries.runs, sum(run.count for run in dictionaries.runs)
    merged = folder / "raw_ids"
    merged.mkdir(parents=True)
    numbers = tuple(folder / f"numbers_{place}" for place in range(len(runs)))
    kind, mask = (IntRunMerge, 2**64 - 1) if dictionaries.kind == "int" else (StringRunMerge, keys.HASH_MASK)
    buffer = max(LEAST_BUFFER, min(MOST_BUFFER, memory // (BUFFERS * (len(runs) + 1))))
    # How many distinct ids there are is known at the end only. Until then they take 8 bytes where the ids of all runs might.
    wide = id_dtype(total) == np.uint64
    merge = kind(
        [run.files for run in runs],
        [str(path) for path in numbers],
        str(merged / "values"),
        str(merged / "ends"),
        key=order_key(seed),
        mask=mask,
        wide=wide,
        buffer=buffer,
    )
    with progress_bar("number", "node") as bar:
        while (more := merge.advance(MERGED_AT_ONCE)) == MERGED_AT_ONCE:
            bar.update(more)
    run = IdRun(merged, dictionaries.kind, merge.merged, (merged / "values").stat().st_size)
    if wide and id_dtype(run.count) == np.uint32:
        for path in numbers:
            path.write_bytes(read_numbers(path, np.uint64).astype(np.uint32).data)
    return Numbering(dictionaries, run, numbers)


def numbering_bytes(numbering: Numbering) -> int:
    """What `number_ids` writes at most: raw ids in order, and the ids of all places where runs are merged."""
    runs, raw_ids = numbering.dictionaries.runs, numbering.raw_ids
    if len(runs) == 1:
        return 0
    return id_run_bytes(raw_ids.kind, raw_ids.count, raw_ids.bytes) + WIDE_BYTES * sum(run.count for run in runs)


def ids_from(first: int, count: int, dtype: type[np.unsignedinteger[Any]]) -> Ids:
    """Return ``count`` ids from ``first`` on. The last may be the largest of its dtype."""
    ids: Ids = np.arange(count, dtype=dtype) + dtype(first)
    return ids


def id_dtype(count: int) -> type[np.unsignedinteger[Any]]:
    """Return the dtype of ids below ``count``: uint32 where they fit, else uint64."""
    return np.uint32 if count <= 1 << 32 else np.uint64
