"""Pass `append` of `update`: new edges become a segment beside the stored ones, whose files stay as they are.

new and removed edges --related--> the stored edges of the same nodes           the only time that stored edges are read
these with the new ones, without the removed ones --sort, count--> what the figures become
new edges, segments that do not stay --sort--> edges/<split>/<version>
segments that stay, adjacency/in --hard links--> edges/<split>, adjacency/in
where removed edges are in these --> holes
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.adjacency import ADJACENCY
from marius_lite.graph.counts import COUNTS
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.manifest import Segment
from marius_lite.graph.report import read_report
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.disk.sort import Records
from marius_lite.preprocess.disk.spool import Ids, SpooledEdges
from marius_lite.preprocess.edges.buckets import TOTALS, SplitWriter, Tally, write_buckets
from marius_lite.preprocess.edges.degrees import degree_facts, degrees_counted
from marius_lite.preprocess.edges.node_counts import write_grown_counts
from marius_lite.preprocess.edges.writing import Written
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.updating.counted import CountedEdges
from marius_lite.preprocess.updating.edges import GrownEdges
from marius_lite.preprocess.updating.holes import segments_left, write_edge_holes, write_list_holes
from marius_lite.preprocess.updating.related import MOST_ROWS, RelatedEdges, counts_of, find_related, sought_numbers
from marius_lite.preprocess.updating.removal import Removal, Unwanted, removal_of
from marius_lite.preprocess.updating.removed import MEMORY_SHARE, RemovedEdges
from marius_lite.preprocess.updating.segments import SegmentPlan, plan_edges, share_edges, share_lists
from marius_lite.preprocess.updating.stored import GrownAmounts, stored_edges

SHARE = 8  # an 8th of --memory is for related edges
RELATED_BYTES = 64  # of a related edge, with a copy
Block = tuple[SpooledEdges, Ids]


@dataclass(frozen=True)
class Appended:
    """What pass `append` returns. ``stay``: by split, how many segments may stay, by what was removed from them."""

    written: Written
    removal: Removal
    stay: dict[str, int]


@dataclass(frozen=True)
class AppendedEdges(GrownEdges):
    """Appends the edges that were read, and leaves the ``unwanted`` ones out; see `GrownEdges`. ``stay``: see `Appended`; those
    that are not in it may all stay."""

    unwanted: Unwanted
    stay: dict[str, int] = field(default_factory=dict)

    @cached_property
    def plans(self) -> dict[str, SegmentPlan]:
        """What stays of each split."""
        options, counts = self.options, self.read.gathered.counts
        width = 2 if options.added.undirected else 1
        return {
            name: plan_edges(
                options.old, name, width * counts[SPLITS.index(name)], options.number, self.nodes, self.stay.get(name)
            )
            for name in options.added.splits
        }

    @property
    def possible(self) -> bool:
        """Whether edges can be appended: where all stay, the first training segment too, and old figures are known. Else all are
        written again."""
        options, old = self.options, self.options.old.manifest
        dropped_by_value = options.added.drop_duplicates and old.edge_columns
        lists_without_relations = old.adjacency and old.relations == 1 < len(self.relations.names)
        return self.site.passes.any_of("append") or bool(
            self.plans[SPLITS[0]].stay
            and not dropped_by_value
            and self._hole_bytes <= self.options.added.memory // SHARE
            and not lists_without_relations
            and self.partitioning.partitions * self.partitioning.rows < MOST_ROWS
            and self._degree_type is not None
            and self._old_totals is not None
        )

    @property
    def segments(self) -> dict[str, tuple[Segment, ...]] | None:
        """What the manifest says of segments."""
        found = {name: each for name, made in self.plans.items() if (each := made.recorded(self.nodes)) is not None}
        return found or None

    @property
    def stored(self) -> dict[str, EdgeBuckets]:
        """The edges of each split of the new version."""
        carried = self.options.old.manifest.carried
        return {
            name: EdgeBuckets(
                self.site.root / "edges" / name,
                self.partitioning,
                carried,
                segments=[(each.name, each.nodes) for each in made.all],
            )
            for name, made in self.plans.items()
        }

    def append(self) -> tuple[AppendedEdges, Written, Tally] | None:
        """Write ``edges/``, ``adjacency`` and ``counts``. Returns these edges with what is known of them then. None, once nothing
        is left of it, where too many edges are related to the new and removed ones, or too many of the first segment would be
        holes. Raises UserError where the new edges carry other columns than those before."""
        self.check()
        site = self.site
        places = [*(site.root / "edges" / name for name in SPLITS), site.root / ADJACENCY.parent, site.root / COUNTS]
        places += [site.work / name for name in ("tally", "runs", "in_degrees")]
        try:
            done = site.passes.once("append", Appended, places, self._append, attrgetter("written.files"))
        except _TooMany:
            return None
        site.passes.clear([site.work / name for name in ("read", "number", "runs")])
        tally = Tally.load(site.work / "tally", self.partitioning, len(self.relations.names))
        return dataclasses.replace(self, removal=done.removal, stay=done.stay), done.written, tally

    def _append(self) -> Appended:
        assert self._degree_type is not None
        counted = CountedEdges.zeros(self.nodes, len(self.relations.names), self._degree_type)
        known = counted.read(self.options.old)
        most = self.options.added.memory // SHARE // RELATED_BYTES
        removed = self.unwanted.load(self.options)
        sought = sought_numbers(self.read, removed, self.options.old.partitioning)
        related = find_related(self.options.old, sought, removed, None if known else counted, most)
        if related is None:
            raise _TooMany
        edges = dataclasses.replace(self, stay=segments_left(self.options.old, related.places))
        if not edges.plans[SPLITS[0]].stay:
            raise _TooMany
        left = {name: count - counts_of(related.removed)[name] for name, count in self.options.old.manifest.edges.items()}
        removal = removal_of(self.options, self.unwanted, removed, left)
        return Appended(edges._finish(related, removed, counted), removal, edges.stay)

    def _finish(self, related: RelatedEdges, removed: RemovedEdges | None, counted: CountedEdges) -> Written:
        """Write everything once it is known which edges are ``related`` and which segments stay."""
        assert self._degree_type is not None
        files = self._share(related)
        tally = self._count(related, counted)
        files |= self._write(related, removed)
        tally.save(self.site.work / "tally")
        for name, places in related.places.items():
            if places:
                counted.mark_again(SPLITS.index(name), self.stored[name])
        memory = plan.pass_memory(self.options.added)
        facts = degree_facts(self.stored, self.partitioning, tally, self.site.work / "in_degrees", memory, lists=False)
        by_node, touched = (counted.out, counted.into, counted.splits), self._touched(related)
        files |= write_grown_counts(self.options.old, self.site.root, self.partitioning, by_node, tally.relation_counts, touched)
        return Written(files, facts, 0)

    def _touched(self, related: RelatedEdges) -> npt.NDArray[np.bool_]:
        """Return which partitions have a node of a new or a removed edge."""
        touched = np.zeros(self.partitioning.partitions, bool)
        gone = (ends for block in related.removed for ends in (block.src, block.dst))
        for nodes in chain([self.read.placed.ids], gone):
            touched[self.partitioning.partition_of(nodes.astype(np.int64))] = True
        return touched

    def _share(self, related: RelatedEdges) -> Files:
        """Share what stays, and write which edges in it are holes now."""
        old, root, files, training = self.options.old, self.site.root, Files(), SPLITS[0]
        for name, made in self.plans.items():
            places = related.places.get(name, {})
            files |= share_edges(old, root, name, made, places)
            write_edge_holes(old, root, name, made, places)
        in_lists = old.manifest.adjacency is not None and 0 in related.places[training]
        files |= share_lists(old, root, in_lists)
        if in_lists:
            write_list_holes(old, root, (block for block in related.removed if block.split == 0))
        return files

    def _count(self, related: RelatedEdges, counted: CountedEdges) -> Tally:
        """Return the tally of all edges, old and new; those of ``counted`` become all edges'."""
        old, partitioning, relations = self.options.old, self.partitioning, len(self.relations.names)
        by_node = (counted.out, counted.into, counted.splits)
        both, before = (Tally.zeros(partitioning, relations, None) for _ in range(2))
        both = dataclasses.replace(both, out_degrees=by_node[0], in_degrees=by_node[1], in_splits=by_node[2])
        for blocks, new, tally in ((related.kept, self._fresh(None), both), (related.blocks, (), before)):
            stored = (block.with_own_keys(block.src, block.dst) for block in blocks)
            self._pass(self._packed(counts_of(blocks), stored, new), tally)
        for block in related.blocks:  # those that stay were counted twice, the others once
            if block.split == 0:
                for ends, degrees in ((block.src, counted.out), (block.dst, counted.into)):
                    np.subtract.at(degrees, ends, 1)
        counted.relations[:] += both.relation_counts - before.relation_counts
        buckets = both.bucket_counts - before.bucket_counts
        for name in old.manifest.edges:
            p = old.partitioning.partitions
            buckets[SPLITS.index(name)].reshape(partitioning.partitions, -1)[:p, :p] += old.edges(name).counts
        assert self._old_totals is not None
        totals = both.totals - before.totals + self._old_totals
        return Tally(buckets, counted.relations, totals, *by_node)

    def _pass(self, pieces: Iterator[Records], tally: Tally, writers: dict[str, SplitWriter] | None = None) -> Files:
        """Count sorted records, and write them where there are writers."""
        carried, sort = self.options.old.manifest.carried, self._sort
        given: Any = writers if writers is not None else {name: _Nowhere() for name in SPLITS}
        return write_buckets(pieces, given, sort.layout, self.nodes, carried, tally, self.options.added.drop_duplicates)

    def _packed(self, before: dict[str, int], stored: Iterator[Block], new: Iterable[Block]) -> Iterator[Records]:
        """Return the records of so many ``stored`` edges and of ``new`` ones, in order."""
        sort = dataclasses.replace(self._sort, amounts=GrownAmounts(self.options.added, self.read.gathered.counts, before))
        self.site.passes.clear([self.site.work / "runs"])
        sorter = self._pack_stored(sort, stored)
        sort.fill(sorter, iter(new))
        return sorter.sorted()

    def _fresh(self, related: RelatedEdges | None) -> Iterator[Block]:
        """Return the new edges; without those that are ``related``, where duplicates are dropped."""
        if related is None or not self.options.added.drop_duplicates:
            yield from self.read.edges()
            return
        place, relations = self.read.placed.ids.astype(np.uint32), self.relations.ids
        known = {split: self._distinct(related.kept, split) for split in range(len(SPLITS))}
        for spooled, ids in self.read.edges():
            src, dst = (place[ids[ends]] for ends in (spooled.src, spooled.dst))
            stored = SpooledEdges(spooled.split, 0, src, relations[spooled.rel], dst)
            kept = known[spooled.split].keep(stored)
            yield dataclasses.replace(spooled, src=spooled.src[kept], rel=spooled.rel[kept], dst=spooled.dst[kept]), ids

    def _distinct(self, stored: list[SpooledEdges], split: int) -> RemovedEdges:
        parts = ((each.src, each.rel, each.dst) for each in stored if each.split == split)
        blocks = (tuple(column.astype(np.int64) for column in columns) for columns in parts)
        return RemovedEdges.of(blocks, self.nodes, True, self.options.added.memory // MEMORY_SHARE)  # type: ignore[arg-type]

    def _write(self, related: RelatedEdges, removed: RemovedEdges | None) -> Files:
        """Write the segments that are new, with the edges of those that do not stay but are not ``removed``."""
        old, memory = self.options.old, plan.split_memory(self.options.added)
        rewritten = {
            name: sum(each.total for each in old.edges(name).segments[made.stay :]) if name in old.manifest.edges else 0
            for name, made in self.plans.items()
        }
        bounds = GrownAmounts(self.options.added, self.read.gathered.counts, rewritten)
        stay = {name: made.stay if made.new else len(made.old) for name, made in self.plans.items()}
        writers = {
            name: SplitWriter(
                self.site.root / "edges" / name / made.new.name,
                bounds.bound(name),
                self.partitioning,
                old.manifest.carried,
                memory,
            )
            for name, made in self.plans.items()
            if made.new
        }
        tally = Tally.zeros(self.partitioning, len(self.relations.names), None)
        stored = stored_edges(old, None if removed is None else removed.keep, stay)
        return self._pass(self._packed(rewritten, stored, self._fresh(related)), tally, writers)

    @property
    def _hole_bytes(self) -> int:
        """What the places of edges that earlier updates removed take."""
        old = self.options.old
        holes = [each for name in old.manifest.edges for each in old.edges(name).holes]
        return sum(8 * int(each.offsets[-1]) for each in holes if each is not None)

    @property
    def _degree_type(self) -> type[np.unsignedinteger[Any]] | None:
        edges = sum(self.options.old.manifest.edges.values()) + 2 * sum(self.read.gathered.counts)
        return degrees_counted(self.partitioning, self.options.added, edges)

    @cached_property
    def _old_totals(self) -> npt.NDArray[np.int64] | None:
        """The totals of a `Tally` that the old report says; None where it does not say all that is asked for."""
        totals, edges = np.zeros((TOTALS, len(SPLITS)), np.int64), read_report(self.options.old.path).get("edges", {})
        for name in self.options.old.manifest.edges:
            split, entry = SPLITS.index(name), edges.get(name, {})
            wanted = ["duplicates", "self_loops", *(["also_in_train"] if split else [])]
            reversed_too = split and self.options.added.reverses_sought
            wanted += ["reverse_in_train", "inverse_in_train"] if reversed_too else []
            if not all(isinstance(entry.get(key), int) for key in wanted):
                return None
            totals[: len(wanted), split] = [entry[key] for key in wanted]
            if reversed_too:
                totals[4, split] += totals[3, split]
        return totals


class _TooMany(Exception):
    """More stored edges are related to the new and removed ones than fit the memory, or all are to be written again."""


class _Nowhere:
    """Where edges go that are only counted."""

    def append(self, *_: object) -> None:
        """Do nothing."""

    def close(self, _: object) -> Files:
        return {}
