"""Passes `sort` and `write` of `update`: stored edges and new ones become ``edges/`` of the new version."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from marius_lite._native import EdgeLayout
from marius_lite.errors import UserError
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.manifest import Segment
from marius_lite.graph.partitioning import Partitioning
from marius_lite.graph.report import read_report
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.disk.sort import ExternalSort
from marius_lite.preprocess.disk.spool import Ids, SpooledEdges
from marius_lite.preprocess.edges.buckets import Tally
from marius_lite.preprocess.edges.sorting import EdgeSort
from marius_lite.preprocess.edges.writing import EdgeWriting, Written
from marius_lite.preprocess.options import SPLITS
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
        carried = self.options.old.manifest.carried
        return EdgeWriting(self._sort, self.partitioning, carried, len(self.relations.names))

    @property
    def segments(self) -> dict[str, tuple[Segment, ...]] | None:
        """What the manifest says of segments: there is one of each split."""
        return None

    @property
    def stored(self) -> dict[str, EdgeBuckets]:
        """The edges of each split of the new version."""
        return self.writing.stored

    def run(self) -> tuple[Written, Tally]:
        """Write ``edges/``. Raises UserError where the new edges carry other columns than those before."""
        self.check()
        written, tally = self.writing.run(self._pack)
        if self.options.added.drop_duplicates:  # those that were dropped before are not stored
            edges = read_report(self.options.old.path).get("edges", {})
            tally.totals[0] += [edges.get(name, {}).get("duplicates", 0) for name in SPLITS]
        return written, tally

    def check(self) -> None:
        """Raise UserError where the new edges carry other columns than those before, or there are too many nodes."""
        old, read = self.options.old.manifest.carried, self.read
        if read.gathered.seen.rows and (new := read.gathered.shape.carried) != old:
            raise UserError(
                f"{self.options.old.path}: its edges have {', '.join(old) or 'no values'}, the new ones "
                f"{', '.join(new) or 'no values'}: name their columns with --edge-weight and --timestamp, or --columns"
            )
        require_keys(self.options.old, self.nodes)

    @property
    def _sort(self) -> EdgeSort:
        read, partitioning = self.read, self.partitioning
        carried = len(self.options.old.manifest.carried)
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
        sorter = self._pack_stored(sort, stored_edges(old, keep))
        sort.fill(sorter, self.read.edges())
        return sorter

    def _pack_stored(self, sort: EdgeSort, stored: Iterator[tuple[SpooledEdges, Ids]]) -> ExternalSort:
        """Put ``stored`` edges, whose keys are node ids, into a sort."""
        as_stored = dataclasses.replace(self.options.added, undirected=False)  # both directions are there already
        relations = np.arange(self.options.old.manifest.relations, dtype=np.uint32)
        site = Site(as_stored, self.site.root, self.site.passes, self.site.threads)
        return dataclasses.replace(sort, site=site, relation_ids=relations, last=_itself, dealt=_itself).pack(stored)


def _itself(ids: Ids) -> Ids:
    return ids
