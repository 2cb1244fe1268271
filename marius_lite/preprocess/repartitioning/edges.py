"""Passes `sort`, `write` and `adjacency` of `repartition`: stored edges to the buckets of the new partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from marius_lite.graph.adjacency import ADJACENCY
from marius_lite.graph.counts import COUNTS
from marius_lite.graph.edges import EDGES_AT_ONCE, EdgeBuckets
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk.passes import Files, all_of_it
from marius_lite.preprocess.disk.sort import ExternalSort, Records, SortedRun, files_of, merge, run_bytes
from marius_lite.preprocess.edges.adjacency import AdjacencyWriter
from marius_lite.preprocess.edges.buckets import SplitWriter, Tally, carried_words, with_bar, write_buckets
from marius_lite.preprocess.edges.degrees import degree_facts, degrees_counted
from marius_lite.preprocess.edges.node_counts import copy_counts
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.repartitioning.site import RepartitionSite
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.background import read_ahead
from marius_lite.storage.flat import open_flat


@dataclass(frozen=True)
class EdgeRepartition:
    """The edges of all splits, from the old dataset to ``edges/`` and ``adjacency/in`` of the new one."""

    site: RepartitionSite

    @property
    def total(self) -> int:
        return sum(self.site.manifest.edges.values())

    @property
    def record_bytes(self) -> int:
        """Bytes of all records that are sorted."""
        return run_bytes(self.total, int(self.site.layout.words))

    @property
    def fits(self) -> bool:
        """Whether all records can be sorted in memory."""
        return self.record_bytes <= plan.sort_memory(self.site.options)

    def sort_and_write(self) -> None:
        """Write ``edges/``. The sort is a pass of its own where its records do not fit the memory."""
        site, passes, words = self.site, self.site.passes, self.site.layout.words
        runs, sorted_runs = site.work / "runs", list[SortedRun]()
        places = [*(site.root / "edges" / name for name in SPLITS), site.root / COUNTS]
        places += [site.work / "counts", site.work / "in_degrees"]
        if passes.any_of("sort") or not (self.fits or passes.any_of("write")):
            sorted_runs = passes.once(
                "sort", list[SortedRun], [runs], lambda: self._pack().finish_runs(), lambda made: files_of(runs, made, words)
            )

        def records() -> Iterator[Records]:
            if not sorted_runs:
                return self._pack().sorted()
            return merge(runs, sorted_runs, words, plan.pass_memory(site.options), site.threads)

        passes.once("write", Files, places if sorted_runs else [*places, runs], lambda: self._write(records()), all_of_it)
        passes.clear([runs])

    def write_adjacency(self) -> Files:
        """Write ``adjacency/in``, where the old dataset has one. Returns (size, crc32c) of the files."""
        site, options = self.site, self.site.options
        if site.manifest.adjacency is None:
            return {}
        writer = AdjacencyWriter(
            site.training,
            site.root / ADJACENCY,
            site.work / "in_degrees",
            site.manifest.relations,
            plan.pass_memory(options),
            plan.column_memory(options),
        )
        writer.write()
        return writer.files

    def _pack(self) -> ExternalSort:
        """Pack stored edges into records of the new partitions, and put these into a sort."""
        site, layout, manifest = self.site, self.site.layout, self.site.manifest
        sorter = ExternalSort(site.work / "runs", plan.sort_memory(site.options), site.threads, self.total, layout.words)
        with progress_bar("sort", "edge", self.total) as bar:
            for split, name in enumerate(SPLITS):
                if name not in site.options.splits:
                    continue
                for edges, first, (src, dst, rel, *carried) in self._stored(name, min(sorter.capacity, EDGES_AT_ONCE)):
                    layout.pack_stored(
                        src,
                        dst,
                        rel,
                        carried_words(carried) if carried else None,
                        first=first,
                        bucket_offsets=edges.offsets,
                        rows=site.old.partitioning.rows,
                        nodes=manifest.nodes,
                        relations=manifest.relations,
                        split=split,
                        threads=site.threads,
                        out=sorter.room(len(src)),
                    )
                    sorter.keep(len(src))
                    bar.update(len(src))
        return sorter

    def _stored(self, split: str, most: int) -> Iterator[tuple[EdgeBuckets, int, list[npt.NDArray[Any]]]]:
        """Read the edges of a split: those that lie in one segment, how many come before, their columns."""
        for edges in self.site.old.edges(split).segments:
            for first, columns in read_ahead(edges.pieces(most)):
                yield edges, first, columns

    def _write(self, pieces: Iterator[Records]) -> Files:
        """Write sorted records as buckets; beside them the edges of each bucket, and in-degrees where in-edge lists need them."""
        site, options, partitioning = self.site, self.site.options, self.site.partitioning
        lists = site.manifest.adjacency is not None
        tally = Tally.zeros(
            partitioning, site.manifest.relations, degrees_counted(partitioning, options, self.total) if lists else None
        )
        writers = {
            name: SplitWriter(
                site.root / "edges" / name,
                open_flat(site.old.edges(name).folder / "src").chunk,
                partitioning,
                site.carried,
                plan.split_memory(options),
            )
            for name in options.splits
        }
        written = write_buckets(
            with_bar(pieces, self.total), writers, site.layout, partitioning.nodes, site.carried, tally, drop_duplicates=False
        )
        (site.work / "counts").write_bytes(tally.bucket_counts[0].data)
        if lists:
            degree_facts({SPLITS[0]: site.training}, partitioning, tally, site.work / "in_degrees", plan.pass_memory(options))
        return written | copy_counts(site.old, site.root, partitioning)
