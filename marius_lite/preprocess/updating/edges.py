"""Passes `sort` and `write` of `update`: stored edges and new ones become ``edges/`` of the new version."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from marius_lite._native import EdgeLayout
from marius_lite.errors import UserError
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.disk.sort import ExternalSort
from marius_lite.preprocess.disk.spool import Ids
from marius_lite.preprocess.edges.buckets import Tally
from marius_lite.preprocess.edges.sorting import EdgeSort
from marius_lite.preprocess.edges.writing import EdgeWriting, Written
from marius_lite.preprocess.updating.options import UpdateOptions
from marius_lite.preprocess.updating.read import ReadEdges
from marius_lite.preprocess.updating.relations import GrownRelations
from marius_lite.preprocess.updating.removal import Removal
from marius_lite.preprocess.updating.removed import RemovedEdges
from marius_lite.preprocess.updating.stored import GrownAmounts, require_keys, stored_edges


@dataclass(frozen=True)
class GrownEdges:
    """The edges ``read``, and those of the old version that ``removal`` leaves. ``relations``: of both."""

    site: Site
    options: UpdateOptions
    read: ReadEdges
    relations: GrownRelations
    removal: Removal

    @property
    def nodes(self) -> int:
        return self.options.old.manifest.nodes + self.read.placed.new

    @property
    def partitioning(self) -> Partitioning:
        return self.options.old.partitioning.grown(self.nodes)

    @property
    def writing(self) -> EdgeWriting:
        carried = self.options.old.manifest.edge_columns or ()
        return EdgeWriting(self._sort, self.partitioning, carried, len(self.relations.names))

    def run(self) -> tuple[Written, Tally]:
        """Write ``edges/``. Raises UserError where the new edges carry other columns than those before."""
        old, read = self.options.old.manifest.edge_columns or (), self.read
        if read.gathered.seen.rows and (new := read.gathered.shape.carried) != old:
            raise UserError(
                f"{self.options.old.path}: its edges have {', '.join(old) or 'no values'}, the new ones "
                f"{', '.join(new) or 'no values'}: name their columns with --edge-weight and --timestamp, or --columns"
            )
        require_keys(self.options.old, self.nodes)
        return self.writing.run(self._pack)

    @property
    def _sort(self) -> EdgeSort:
        read, partitioning = self.read, self.partitioning
        carried = len(self.options.old.manifest.edge_columns or ())
        layout = EdgeLayout(partitioning.rows, partitioning.partitions, len(self.relations.names), carried)
        amounts = GrownAmounts(self.options.added, read.gathered.counts, self.removal.left)
        apply = read.placed.apply
        return EdgeSort(self.site, amounts, layout, self.relations.ids, apply, apply)

    def _pack(self) -> ExternalSort:
        """Put the edges that stay and the new ones into a sort."""
        old, sort = self.options.old, self._sort
        keep = None
        if self.removal.edges is not None:
            direction = not self.options.removed.undirected
            keep = RemovedEdges.load(self.removal.edges, old.manifest.nodes, direction).keep
        as_stored = dataclasses.replace(self.options.added, undirected=False)  # both directions are there already
        relations = np.arange(old.manifest.relations, dtype=np.uint32)
        site = Site(as_stored, self.site.root, self.site.passes, self.site.threads)
        before = dataclasses.replace(sort, site=site, relation_ids=relations, last=_itself, dealt=_itself)
        sorter = before.pack(stored_edges(old, keep))
        sort.fill(sorter, self.read.edges())
        return sorter


def _itself(ids: Ids) -> Ids:
    return ids
