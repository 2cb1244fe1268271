"""Pass `sort`: spooled edges become sorted records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from marius_lite._native import EdgeLayout
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.disk.sort import ExternalSort, run_bytes
from marius_lite.preprocess.disk.spool import Ids, Keys, SpooledEdges
from marius_lite.preprocess.edges.amounts import Amounts
from marius_lite.preprocess.fractions import split_bounds
from marius_lite.preprocess.options import Options
from marius_lite.progress_bar import progress_bar
from marius_lite.seeds import seed_for

Renumber = Callable[[Ids], Ids]


def split_rules(options: Options, split: int) -> dict[str, Any]:
    """Return the arguments that decide into which split a spooled edge falls. ``split``: the split of its file."""
    return {
        "split": split,
        "bounds": split_bounds(options.fractions) if options.fractions else None,
        "key": seed_for(options.seed, "split"),
        "undirected": options.undirected,
    }


@dataclass(frozen=True)
class EdgePacker:
    """Packs spooled edges into records, by so many ``threads``. See `EdgeSort`."""

    options: Options
    threads: int
    layout: EdgeLayout
    relation_ids: Keys
    last: Renumber
    dealt: Renumber

    def fill(
        self, sorter: ExternalSort, edges: Iterator[tuple[SpooledEdges, Ids]], progress: Callable[[int], object] = lambda _: None
    ) -> None:
        """Put ``edges``, each block with the numbering's ids of its keys, into a sort, as records with last ids."""
        options = self.options
        known, last, hashed = None, np.empty(0, np.uint32), np.empty(0, np.uint32)
        for spooled, ids in edges:
            if known is not ids:
                known, last = ids, self.last(ids)
                hashed = self.dealt(ids) if options.fractions else last
            width = 2 if options.undirected or (spooled.split and options.reverses_sought) else 1
            step = sorter.capacity // width
            for at in range(0, len(spooled.src), step):
                part = slice(at, at + step)
                count = len(spooled.src[part])
                sorter.keep(
                    self.layout.pack(
                        spooled.src[part],
                        spooled.rel[part],
                        spooled.dst[part],
                        None if spooled.carried is None else spooled.carried[part],
                        last,
                        hashed,
                        self.relation_ids,
                        **split_rules(options, spooled.split),
                        threads=self.threads,
                        out=sorter.room(count * width),
                    )
                )
                progress(count)


@dataclass(frozen=True)
class EdgeSort:
    """``relation_ids``: the id of each relation's key. ``last`` turns the numbering's ids into those of the dataset. ``dealt``
    turns them into the ids by which --split deals edges, which no partitioner changes."""

    site: Site
    amounts: Amounts
    layout: EdgeLayout
    relation_ids: Keys
    last: Renumber
    dealt: Renumber

    @property
    def packer(self) -> EdgePacker:
        return EdgePacker(self.site.options, self.site.threads, self.layout, self.relation_ids, self.last, self.dealt)

    @property
    def fits(self) -> bool:
        """Whether all records can be sorted in memory."""
        return run_bytes(self.amounts.records, int(self.layout.words)) <= plan.sort_memory(self.site.options)

    def pack(self, edges: Iterator[tuple[SpooledEdges, Ids]]) -> ExternalSort:
        """Pack spooled ``edges``, each block with the numbering's ids of its keys, into records with last ids, and put these into
        a sort."""
        runs, memory = self.site.work / "runs", plan.sort_memory(self.site.options)
        sorter = ExternalSort(runs, memory, self.site.threads, self.amounts.records, self.layout.words)
        self.fill(sorter, edges)
        return sorter

    def fill(self, sorter: ExternalSort, edges: Iterator[tuple[SpooledEdges, Ids]]) -> None:
        """Put ``edges`` into a sort, as `pack` does."""
        with progress_bar("sort", "edge", self.amounts.read) as bar:
            self.packer.fill(sorter, edges, bar.update)
