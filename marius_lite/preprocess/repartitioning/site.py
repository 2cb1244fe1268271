"""Where `repartition` works: the old dataset, the new folder, the new partitions."""

from __future__ import annotations

from marius_lite._native import EdgeLayout
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.manifest import Manifest
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.site import SiteOf
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.repartitioning.options import RepartitionOptions


class RepartitionSite(SiteOf[RepartitionOptions]):
    """Where `repartition` makes the dataset of ``options`` again."""

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
        return self.manifest.carried

    @property
    def layout(self) -> EdgeLayout:
        """How an edge is packed into a record that sorts by new buckets."""
        new = self.partitioning
        return EdgeLayout(new.rows, new.partitions, self.manifest.relations, len(self.carried))

    @property
    def training(self) -> EdgeBuckets:
        """The training edges that are written."""
        return EdgeBuckets(self.root / "edges" / SPLITS[0], self.partitioning, self.carried)
