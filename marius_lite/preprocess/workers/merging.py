"""What workers have read becomes one spool with one set of dictionaries, by renaming files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite import files
from marius_lite._native import write_file
from marius_lite.errors import UserError
from marius_lite.files import read_numbers
from marius_lite.preprocess.disk.spool import SpoolBlock, relations_path
from marius_lite.preprocess.ids.id_runs import IdRun
from marius_lite.preprocess.ids.keys import FILES_OF_A_RUN, OTHER_FILES, Dictionaries
from marius_lite.preprocess.ids.numbering import order_dense
from marius_lite.preprocess.ids.relations import RelationKeys
from marius_lite.preprocess.workers.shards import ShardSpool

BITS = 64


@dataclass(frozen=True)
class IdSite:
    """Where dictionaries are merged: ``folder`` has those of the command itself. ``memory`` in bytes."""

    folder: Path
    seed: int
    memory: int
    threads: int


class SpoolMerge:
    """Takes the blocks of shards into one ``spool``, in the order of shards, with the keys of ``relations``."""

    def __init__(self, spool: Path, relations: RelationKeys):
        self._spool, self._relations = spool, relations
        self._blocks: list[tuple[SpoolBlock, int]] = []
        self._dictionaries: list[Dictionaries] = []

    def add(self, read: ShardSpool) -> None:
        """Take a shard's files. Raises UserError where there are too many relations."""
        shard = len(self._dictionaries)
        if read.dictionaries is None:
            return
        self._dictionaries.append(read.dictionaries)
        if read.shape.relations and read.relations:
            names = pa.DictionaryArray.from_arrays(pa.array(np.arange(len(read.relations), dtype=np.int32)), list(read.relations))
            write_file(str(relations_path(self._spool, shard)), self._relations.add(names).view(np.uint8))
        for block in read.blocks:
            number = len(self._blocks)
            (read.folder / "spool" / str(block.number)).rename(self._spool / str(number))
            self._blocks.append((dataclasses.replace(block, number=number, shard=shard), shard))

    def finish(self, own: Dictionaries, place: IdSite) -> tuple[Dictionaries, tuple[SpoolBlock, ...]]:
        """Merge dictionaries. Returns them with all blocks. ``own``: what came before the shards, whose numbers stay."""
        merged, first = _merged([own, *self._dictionaries], place)
        return merged, tuple(
            dataclasses.replace(block, dictionary=block.dictionary + first[1 + shard]) for block, shard in self._blocks
        )


def _merged(found: Sequence[Dictionaries], place: IdSite) -> tuple[Dictionaries, list[int]]:
    """Return all dictionaries as one, and the number that the first of each has in it."""
    used = [one for one in found if _any(one)] or found[:1]
    if found[0] not in used:
        files.remove_tree(place.folder)
    if all(one.bound for one in used):
        return _dense(used, place.folder), [0] * len(found)
    needed = FILES_OF_A_RUN * sum(max(1, len(one.runs)) for one in used) + OTHER_FILES
    if needed > files.most_open():
        raise UserError(
            f"the workers have filled {sum(len(one.runs) for one in used):,} tables of ids, too many to be open at a time when "
            "they are merged (ulimit -n): give more --memory, or fewer --workers"
        )
    runs: list[IdRun] = []
    first = []
    for one in found:
        first.append(len(runs))
        if one in used:
            runs += _as_runs(one, len(runs), place)
    return Dictionaries(used[0].kind, place.folder, 0, tuple(runs)), first


def _any(one: Dictionaries) -> bool:
    """Whether any raw id has a key."""
    return bool(one.bitmap_path.stat().st_size) if one.bound else any(run.count for run in one.runs)


def _dense(found: Iterable[Dictionaries], folder: Path) -> Dictionaries:
    """Return the union of integers that are their own keys."""
    union: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
    for one in found:
        marked = read_numbers(one.bitmap_path, np.uint64)
        longer, shorter = (union, marked) if len(union) >= len(marked) else (marked, union)
        union = longer.copy()
        union[: len(shorter)] |= shorter
    merged = Dictionaries("int", folder, max(BITS, len(union) * BITS), ())
    folder.mkdir(exist_ok=True)
    write_file(str(merged.bitmap_path), union.view(np.uint8))
    return merged


def _as_runs(one: Dictionaries, number: int, place: IdSite) -> list[IdRun]:
    """Move the runs of a dictionary to ``folder``, where they get numbers from ``number`` on. Integers that are their own keys
    become a run."""
    if one.bound:
        run = order_dense(one, place.seed, place.folder / str(number), place.memory, place.threads)
        rank, first = np.zeros(one.bound, np.uint32), 0
        for raw in run.read():
            rank[raw.to_numpy()] = np.arange(first, first + len(raw), dtype=np.uint32)
            first += len(raw)
        write_file(str(run.folder / "rank"), rank.view(np.uint8))
        return [run]
    moved: list[IdRun] = []
    for run in one.runs:
        folder = place.folder / str(number + len(moved))
        if folder != run.folder:
            folder.parent.mkdir(exist_ok=True)
            run.folder.rename(folder)
        moved.append(dataclasses.replace(run, folder=folder))
    return moved
