"""Where `repartition` works: the old dataset, the new folder, the new partitions."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from marius_lite._native import EdgeLayout
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.manifest import Manifest
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.passes import Passes
from marius_lite.preprocess.disk.place import WORK
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.repartitioning.options import RepartitionOptions


@dataclass(frozen=True)
class RepartitionSite:
    """The dataset of ``options`` is made again in folder ``root`` by so many ``threads``. ``passes``: those that are finished."""

    options: RepartitionOptions
    root: Path
    passes: Passes
    threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))

    @property
    def work(self) -> Path:
        """The folder for what is needed on the way."""
        return self.root / WORK

    @property
    def old(self) -> Dataset:
        return self.options.dataset

    @property
    def manifest(self) -> Manifest:
        """The old dataset's manifest."""
        return self.old.manifest

    @property
    def partitioning(self) -> Partitioning:
        """The new partitions."""
        return Partitioning(self.manifest.nodes, self.options.partitions)

    @property
    def carried(self) -> tuple[str, ...]:
        """The columns that edges carry beside their ids."""
        return self.manifest.edge_columns or ()

    @property
    def layout(self) -> EdgeLayout:
        """How an edge is packed into a record that sorts by new buckets."""
        new = self.partitioning
        return EdgeLayout(new.rows, new.partitions, self.manifest.relations, len(self.carried))

    @property
    def training(self) -> EdgeBuckets:
        """The training edges that are written."""
        return EdgeBuckets(self.root / "edges" / SPLITS[0], self.partitioning, self.carried)
