"""Pass `write`: sorted records become ``edges/``, and are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from marius_lite.graph.counts import COUNTS
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.disk.sort import Records, SortedRun, files_of, merge
from marius_lite.preprocess.edges.buckets import SplitWriter, Tally, count_dtype, with_bar, write_buckets
from marius_lite.preprocess.edges.degrees import DegreeFacts, degree_facts, degrees_counted
from marius_lite.preprocess.edges.node_counts import TallyWriter
from marius_lite.preprocess.edges.sorting import EdgeSort
from marius_lite.preprocess.options import SPLITS


@dataclass(frozen=True)
class Written:
    """What pass `write` returns. ``runs``: sorted runs that it merged. The counts of its tally are in a file, in-degrees in
    another."""

    files: Files
    degrees: DegreeFacts
    runs: int


class Packed(Protocol):
    """Edges as records that are to be sorted. `ExternalSort` is such a thing."""

    def sorted(self) -> Iterator[Records]:
        """Return all records in order, in pieces."""
        ...

    def finish_runs(self) -> list[SortedRun]:
        """Write all records to disk as sorted runs, and return these."""
        ...


class EdgeWriting:
    """Writes the edges that ``sort`` sorts, of so many ``relations``, with the columns ``carried``."""

    def __init__(self, sort: EdgeSort, partitioning: Partitioning, carried: tuple[str, ...], relations: int):
        self._sort, self._site, self._amounts = sort, sort.site, sort.amounts
        self._partitioning, self._carried, self._relations = partitioning, carried, relations

    def run(self, pack: Callable[[], Packed]) -> tuple[Written, Tally]:
        """Write ``edges/``: the edges that ``pack`` puts into a sort. The sort is a pass of its own where records do not fit the
        memory."""
        options, work, words = self._site.options, self._site.work, self._sort.layout.words
        passes, runs = self._site.passes, work / "runs"
        once, done = passes.once, passes.any_of
        places = [*(self._site.root / "edges" / name for name in SPLITS), self._site.root / COUNTS]
        places += [work / "tally", work / "in_degrees"]
        keyed = [work / "read", work / "number"]
        if done("write") or (self._sort.fits and not done("sort")):  # an earlier run may have had another --memory
            written = once("write", Written, [*places, runs], lambda: self._write(pack().sorted(), 0), attrgetter("files"))
        else:
            sorted_runs = once(
                "sort", list[SortedRun], [runs], lambda: pack().finish_runs(), lambda made: files_of(runs, made, words)
            )
            passes.clear(keyed)
            written = once(
                "write",
                Written,
                places,
                lambda: self._write(
                    merge(runs, sorted_runs, words, plan.pass_memory(options), self._site.threads), len(sorted_runs)
                ),
                attrgetter("files"),
            )
        passes.clear([*keyed, runs])
        return written, Tally.load(work / "tally", self._partitioning, self._relations)

    def _write(self, pieces: Iterator[Records], runs: int) -> Written:
        options, work, partitioning = self._site.options, self._site.work, self._partitioning
        tally = Tally.zeros(partitioning, self._relations, degrees_counted(partitioning, options, self._amounts.stored))
        writers = {
            name: SplitWriter(
                self._site.root / "edges" / name,
                self._amounts.bound(name),
                partitioning,
                self._carried,
                plan.split_memory(options),
            )
            for name in options.splits
        }
        counted = with_bar(pieces, self._amounts.records)
        written = write_buckets(
            counted, writers, self._sort.layout, partitioning.nodes, self._carried, tally, options.drop_duplicates
        )
        tally.save(work / "tally")
        stored = self.stored
        counts = TallyWriter(self._site.root, partitioning, count_dtype(stored[SPLITS[0]].total))
        facts = degree_facts(stored, partitioning, tally, work / "in_degrees", plan.pass_memory(options), counts)
        return Written(written | counts.close(tally.relation_counts), facts, runs)

    @property
    def stored(self) -> dict[str, EdgeBuckets]:
        """The written edges of each split."""
        return {
            name: EdgeBuckets(self._site.root / "edges" / name, self._partitioning, self._carried)
            for name in self._site.options.splits
        }
