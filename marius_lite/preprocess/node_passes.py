"""Passes `nodes`, `types`, `partition` and `names`: from the first ids of nodes to those of the dataset, and
``nodes.parquet``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from marius_lite import files
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.disk.spool import Keys
from marius_lite.preprocess.gather.gather import Gathered
from marius_lite.preprocess.ids.numbering import Numbering, id_dtype, with_ids
from marius_lite.preprocess.ids.renumber import Renumbering, TrainingFirst, write_nodes
from marius_lite.preprocess.nodes.node_data import NodeData, NodeLabels
from marius_lite.preprocess.nodes.node_types import PlacedTypes, TypeSource
from marius_lite.preprocess.nodes.numbered import NumberedNodes
from marius_lite.preprocess.nodes.tables import CODE
from marius_lite.preprocess.partition.places import Placing


@dataclass(frozen=True)
class NodePasses:
    """``relation_ids``: the id of each relation's key. A partitioner counts equal edges of different relations."""

    site: Site
    gathered: Gathered
    numbering: Numbering
    partitioning: Partitioning
    relation_ids: Keys

    def run(self, data: NodeData | None, source: TypeSource | None) -> NumberedNodes:
        """Run the passes. ``data``: features, labels and splits, ``source``: types, where there are files of them."""
        labels, types = self._labels(data), self._types(source)
        last = self._last(labels)
        file, names = self.site.root / "nodes.parquet", self.site.work / "names"
        self.site.passes.once(
            "names",
            type(None),
            [file, names],
            lambda: write_nodes(
                file,
                self.numbering.raw_ids,
                last,
                self.partitioning,
                names,
                plan.sort_memory(self.site.options),
                types.by(last) if types else None,
            ),
        )
        return NumberedNodes(self.numbering, labels, types, self.partitioning, last)

    def _labels(self, data: NodeData | None) -> NodeLabels | None:
        lists, folder = self.gathered.node_lists, self.site.work / "nodes"
        if data is None or lists is None:
            return None
        return self.site.passes.once("nodes", NodeLabels, [folder], lambda: data.place(self.numbering, lists, folder))

    def _types(self, source: TypeSource | None) -> PlacedTypes | None:
        given, folder = self.gathered.node_types, self.site.work / "types"
        if source is None or given is None:
            return None
        return self.site.passes.once("types", PlacedTypes, [folder], lambda: source.place(self.numbering, given, folder))

    def _last(self, labels: NodeLabels | None) -> Renumbering:
        """Return what gives the last ids: training nodes come first, where they are to, then the order of the partitioner, where
        there is one."""
        nodes, training = self.numbering.nodes, None
        if labels is not None and labels.codes is not None and self.site.options.training_partitions == "first":
            training = TrainingFirst(files.read_numbers(labels.codes, CODE))
        last = Renumbering(training, None, id_dtype(nodes))
        if self.site.options.partitioner == "random" or self.partitioning.partitions == 1:
            return last
        first = labels.counts["train"] if training and labels and labels.counts else nodes
        placing = Placing(self.site, self.partitioning, sum(self.gathered.counts), self.relation_ids, last)
        places = self.site.passes.once(
            "partition", Path, placing.places, lambda: placing.run(with_ids(self.gathered.edges(), self.numbering), first)
        )
        return Renumbering(training, places, id_dtype(nodes))
