"""In-edge lists by edge type, as PyTorch Geometric's HeteroData has them: (type of the source, relation, type of the target)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.errors import UserError
from marius_lite.graph.adjacency import Adjacency, PartitionLists
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EDGES_AT_ONCE
from marius_lite.graph.node_types import Codes
from marius_lite.pyg.raw_ids import RawIds

EdgeType = tuple[str, str, str]
Keys = npt.NDArray[np.int64]
UNNAMED = "to"
"""What PyTorch Geometric calls a relation without a name."""
NODE_BYTES = 2
"""What `TypedEdges.codes` takes for a node."""
MOST_LISTED = 10
"""Types that an error message lists at most."""


class TypedEdges(Adjacency):
    """In-edge lists where ``rel`` is the place of an edge's type in ``edge_types``. So fanouts by relation are by edge type.

    ``node_types``: their names. ``codes``: the place of each node's type there, uint16 (nodes,). ``edge_types``: those of the
    training edges, in order of relations, then of the types of sources and of targets. ``ends``: the codes of their sources and
    targets, int64 (2, edge types). Opening reads the lists once, to find the types. Raises UserError for a dataset without types.
    """

    def __init__(self, dataset: Dataset):
        stored, types = dataset.adjacency, dataset.types
        if stored is None or types is None:
            raise UserError(
                f"{dataset.path}: nodes have no types: preprocess stores them with --node-types FILE; without types give "
                "num_neighbors as a list, and no type with what is loaded"
            )
        super().__init__(stored.folder, dataset.partitioning, dataset.manifest.relations, stored.has_weights, dataset.checked)
        self.dataset, self.codes = dataset, types.codes(0, types.count)
        self.node_types: list[str] = types.names.to_pylist()
        self._keys = self._occurring()
        rel, src, dst = self._apart(self._keys)
        relations, names = dataset.relation_names(), self.node_types
        self.ends = np.stack([src, dst])
        self.edge_types: list[EdgeType] = [
            (names[s], str(relations[r]) or UNNAMED, names[d]) for r, s, d in zip(rel.tolist(), src.tolist(), dst.tolist())
        ]

    def edge_bytes(self, weights: bool = False) -> int:
        return super().edge_bytes(weights) + 4 * (not self.has_relations)

    def read(self, k: int, weights: bool = False, own_pages: bool = False, *, relations: bool = True) -> PartitionLists:
        lists = super().read(k, weights, own_pages, relations=relations)
        if not relations:
            return lists
        rel = np.empty(len(lists.sources), np.uint32) if lists.rel is None else lists.rel
        known = pa.array(self._keys)
        for part, keys in self._pieces(k, lists):
            rel[part] = pc.index_in(pa.array(keys), value_set=known).to_numpy()
        return replace(lists, rel=rel)

    def of(self, ends: Keys, rel: npt.NDArray[np.uint32]) -> Keys:
        """Return the places of edges' types in ``edge_types``, int64 (edges,), -1 for others.

        ``ends``: node ids of sources and targets, (2, edges). ``rel``: relation ids, (edges,).
        """
        places = pc.index_in(pa.array(self._key(ends[0], rel, self.codes[ends[1]])), value_set=pa.array(self._keys))
        found: Keys = places.fill_null(-1).to_numpy().astype(np.int64)
        return found

    def code(self, name: str, argument: str) -> int:
        """Return the place of a node type. Raises UserError for one that the dataset does not have."""
        if name not in self.node_types:
            raise UserError(f"{argument}: no node type {name!r} in {self.dataset.path}: it has {_listed(self.node_types)}")
        return self.node_types.index(name)

    def require(self, nodes: Keys, code: int, what: str, raw: RawIds) -> None:
        """Raise UserError for a node of another type. ``what``: what the nodes are, for the message."""
        wrong = np.flatnonzero(self.codes[nodes] != code)[:1]
        if len(wrong):
            (called,) = raw.names(raw.of(nodes[wrong]).numpy())
            kind = self.node_types[self.codes[nodes[wrong[0]]]]
            raise UserError(f"{what} {called} (entry {wrong[0]}) is of type {kind!r}, not {self.node_types[code]!r}")

    def place(self, asked: EdgeType, argument: str) -> int:
        """Return the place of an edge type. Raises UserError for one that no training edge has."""
        if asked not in self.edge_types:
            raise UserError(f"{argument}: no edge type {asked!r} in {self.dataset.path}: it has {_listed(self.edge_types)}")
        return self.edge_types.index(asked)

    def _occurring(self) -> Keys:
        """Return the keys of the edge types that training edges have, ascending."""
        found = np.empty(0, np.int64)
        for k in range(self.partitioning.partitions):
            for _, keys in self._pieces(k, super().read(k)):
                found = np.union1d(found, pc.unique(pa.array(keys)).to_numpy())
        return found

    def _pieces(self, k: int, lists: PartitionLists) -> Generator[tuple[slice, Keys], None, None]:
        """Yield the keys of partition k's edges, some at a time, and where these lie in the lists."""
        ids = self.partitioning.range(k)
        targets = np.repeat(self.codes[ids.start : ids.stop], np.diff(lists.indptr))
        for low in range(0, len(targets), EDGES_AT_ONCE):
            part = slice(low, low + EDGES_AT_ONCE)
            yield part, self._key(lists.sources[part], None if lists.rel is None else lists.rel[part], targets[part])

    def _key(self, src: npt.NDArray[np.integer], rel: npt.NDArray[np.uint32] | None, targets: Codes) -> Keys:
        """Return a number for each edge: its relation, then the codes of its source and its target."""
        types = len(self.node_types)
        sources = self.codes[src].astype(np.int64)
        both = sources if rel is None else rel.astype(np.int64) * types + sources
        found: Keys = both * types + targets
        return found

    def _apart(self, keys: Keys) -> tuple[Keys, Keys, Keys]:
        """Return the relations that keys stand for, and the codes of sources and targets."""
        both, dst = np.divmod(keys, len(self.node_types))
        rel, src = np.divmod(both, len(self.node_types))
        return rel, src, dst


def _listed(names: list[str] | list[EdgeType]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(map(repr, names[:MOST_LISTED])) + more
