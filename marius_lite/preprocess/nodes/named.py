"""Everything about ids, once nodes have their last ones."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.ids.numbering import Numbering
from marius_lite.preprocess.ids.renumber import Renumbering
from marius_lite.preprocess.nodes.node_data import NodeLabels
from marius_lite.preprocess.nodes.node_types import PlacedTypes


@dataclass(frozen=True)
class Named:
    """``last`` turns the numbering's ids into those of the dataset."""

    numbering: Numbering
    labels: NodeLabels | None
    types: PlacedTypes | None
    partitioning: Partitioning
    last: Renumbering
