"""Passes `place` and `names` of `update`: raw ids that were read become node ids, those of new nodes the next ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.files import read_numbers
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.ids import names_file
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.disk.spool import Ids
from marius_lite.preprocess.ids.id_runs import IdRun
from marius_lite.preprocess.ids.numbering import id_dtype
from marius_lite.preprocess.ids.renumber import write_names
from marius_lite.preprocess.repartitioning.nodes import raw_id_blocks
from marius_lite.preprocess.updating.segments import SegmentPlan, share_names

ID_BYTES, STRING_BYTES = 64, 2
"""What a raw id takes while it is looked up, beside its bytes; copies of a string's bytes."""
NONE = -1


@dataclass(frozen=True)
class PlacedNodes:
    """The node id of each of the ``raw_ids`` that were read, in the file ``places``. ``known``: nodes before, ``new``: nodes that
    get the ids after those, in the order of the raw ids."""

    places: Path
    read: int
    known: int
    new: int

    @property
    def ids(self) -> Ids:
        """The node ids, uint32 or uint64."""
        return read_numbers(self.places, id_dtype(self.known + self.read))

    def apply(self, ids: Ids) -> Ids:
        """Return the node id of each place among the raw ids."""
        found: Ids = self.ids[ids] if len(ids) else ids
        return found.astype(id_dtype(self.known + self.new), copy=False)


def place_nodes(old: Dataset, raw_ids: IdRun, places: Path, memory: int) -> PlacedNodes:
    """Look raw ids up among the nodes of a dataset, as many at a time as ``memory`` (bytes) holds, and write the file
    ``places``."""
    known, new, dtype = old.manifest.nodes, 0, id_dtype(old.manifest.nodes + raw_ids.count)
    with open(places, "wb") as file:
        for raw in _stretches(raw_ids, memory):
            ids = old.lookup_distinct_nodes(raw)
            unknown = ids == NONE
            ids[unknown] = known + new + np.arange(np.count_nonzero(unknown))
            new += int(np.count_nonzero(unknown))
            file.write(ids.astype(dtype).data)
    return PlacedNodes(places, raw_ids.count, known, new)


def write_grown_names(old: Dataset, root: Path, raw_ids: IdRun, placed: PlacedNodes, plan: SegmentPlan) -> Files:
    """Write the names that do not stay as they are, by the ``plan``, and those of the new nodes, to one file; share the others.

    Returns (size, crc32c) of those that are shared. Raises UserError where an old file is damaged, and for new nodes of a dataset
    whose nodes have types.
    """
    if placed.new and old.types is not None:
        name = next(_new_names(raw_ids, placed))[0].as_py()
        raise UserError(
            f"{old.path}: its nodes have types, and {placed.new:,} nodes are new, such as {name!r}: update cannot "
            "give them types: make the dataset again with `marius-lite preprocess`"
        )
    if plan.new is not None:
        again = old.name_files[plan.stay :]
        for file in again:
            old.checked.check(file)
        path, begin = root / names_file(plan.new.name), plan.old[plan.stay - 1].nodes if plan.stay else 0
        path.parent.mkdir(exist_ok=True)
        names = chain(raw_id_blocks(again), _new_names(raw_ids, placed))
        write_names(path, old.manifest.ids, names, old.partitioning.grown(placed.known + placed.new), None, begin)
    return share_names(old, root, plan)


def _new_names(raw_ids: IdRun, placed: PlacedNodes) -> Iterator[pa.Array]:
    """Return the raw ids of the new nodes, in the order of their ids."""
    ids, first = placed.ids, 0
    for raw in raw_ids.read():
        new = ids[first : first + len(raw)] >= placed.known
        first += len(raw)
        if new.any():
            yield raw.filter(pa.array(new))


def _stretches(raw_ids: IdRun, memory: int) -> Iterator[pa.Array]:
    """Return raw ids in stretches that can be looked up within ``memory`` bytes, or a block of a run."""
    waiting: list[pa.Array] = []
    taken = 0
    for raw in raw_ids.read():
        size = len(raw) * ID_BYTES + STRING_BYTES * raw.nbytes
        if waiting and taken + size > memory:
            yield pa.concat_arrays(waiting)
            waiting, taken = [], 0
        waiting.append(raw)
        taken += size
    if waiting:
        yield pa.concat_arrays(waiting)
