"""The stored edges of a dataset, as the spooled edges that pass `sort` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EDGES_AT_ONCE, EdgeBuckets
from marius_lite.preprocess.disk.spool import Ids, SpooledEdges
from marius_lite.preprocess.edges.amounts import Amounts
from marius_lite.preprocess.edges.buckets import carried_words
from marius_lite.preprocess.options import SPLITS

MOST_NODES = 1 << 32  # a key has 32 bits
Keep = Callable[[SpooledEdges], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class GrownAmounts(Amounts):
    """How many edges there are with those ``before`` by split. ``options`` and ``counts`` are of the new ones."""

    before: Mapping[str, int]

    @property
    def stored(self) -> int:
        return super().stored + sum(self.before.values())

    @property
    def records(self) -> int:
        return super().records + sum(count * (1 if name == SPLITS[0] else 2) for name, count in self.before.items())

    def bound(self, split: str) -> int:
        return super().bound(split) + self.before.get(split, 0)


def require_keys(old: Dataset, nodes: int) -> None:
    """Raise UserError where node ids do not fit the keys of spooled edges."""
    if nodes > MOST_NODES:
        raise UserError(f"{old.path}: {nodes:,} nodes: update takes at most {MOST_NODES:,}: make the dataset again")


def stored_edges(
    old: Dataset, keep: Keep | None = None, stay: Mapping[str, int] | None = None
) -> Iterator[tuple[SpooledEdges, Ids]]:
    """Return all stored edges, or those that ``keep`` chooses, each block with the id of each key; see `stored_blocks`."""
    for edges in stored_blocks(old, stay):
        if keep is not None and not (kept := keep(edges)).all():
            carried = None if edges.carried is None else edges.carried[kept]
            edges = SpooledEdges(edges.split, 0, edges.src[kept], edges.rel[kept], edges.dst[kept], carried)
        yield edges.with_own_keys(edges.src, edges.dst)


def stored_blocks(old: Dataset, stay: Mapping[str, int] | None = None) -> Iterator[SpooledEdges]:
    """Return all stored edges, with node ids as keys.

    ``stay``: by split, how many of its first segments are left out. Raises UserError where the bytes are not those that were
    written.
    """
    for name in old.manifest.edges:
        for segment in old.edges(name).segments[(stay or {}).get(name, 0) :]:
            yield from _blocks(segment, SPLITS.index(name))


def _blocks(edges: EdgeBuckets, split: int) -> Iterator[SpooledEdges]:
    p = edges.partitioning.partitions
    for piece in edges.block(range(p), range(p), EDGES_AT_ONCE, edges.columns):
        src, dst = piece.node_ids(edges.partitioning)
        rel, *carried = piece.columns[2:]
        yield SpooledEdges(split, 0, src, rel, dst, carried_words(carried) if carried else None)
