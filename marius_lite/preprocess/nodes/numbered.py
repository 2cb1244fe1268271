"""Nodes with their last ids, and what is placed by id: labels, splits, types."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.ids.numbering import Numbering
from marius_lite.preprocess.ids.renumber import Renumbering
from marius_lite.preprocess.nodes.node_data import NodeLabels
from marius_lite.preprocess.nodes.node_types import PlacedTypes


@dataclass(frozen=True)
class NumberedNodes:
    """``labels``, ``types``: by the ids of ``numbering``. ``last`` turns these into the ids of the dataset."""

    numbering: Numbering
    labels: NodeLabels | None
    types: PlacedTypes | None
    partitioning: Partitioning
    last: Renumbering
