"""Facts of the dataset, the record and the machine that resolve a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class NodeFacts:
    """Facts of the nodes to classify: ``training`` of them fill the first ``training_partitions``; the largest split has
    ``evaluated``. ``multi_label``: a node may have several classes."""

    classes: int
    training: int
    training_partitions: int
    evaluated: int = 0
    multi_label: bool = False


@dataclass(frozen=True)
class Facts:
    """``splits``: edges, or nodes to classify, of each. ``stride``: bytes of a learned record.

    Where there is an encoder, ``features``: bytes of a node's features as stored, ``feature_width`` numbers, 0 without any, and
    ``lists``: bytes of the in-edges of the largest partition. ``nodes_to_classify``: for that task. ``whole_graph_reason``: why
    the module of a user can only be run on the whole graph at once, and so cannot be evaluated; None where it can.
    """

    nodes: int
    relations: int
    splits: Mapping[str, int]
    partitions: int
    rows_per_partition: int
    bucket_counts: npt.NDArray[np.int64]
    stride: int
    available_memory: int
    threads: int
    cuda: bool
    features: int = 0
    feature_width: int = 0
    lists: int = 0
    nodes_to_classify: NodeFacts | None = None
    whole_graph_reason: str | None = None
