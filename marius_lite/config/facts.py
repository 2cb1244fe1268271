"""The facts about dataset, rows and machine from which `config.resolve` finds each ``auto``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class NodeFacts:
    """Facts about the nodes to classify.

    ``classes``: how many classes there are. ``training``: training nodes, which are in the first ``training_partitions``
    partitions. ``evaluated``: nodes of the largest split. ``multi_label``: whether a node may have several classes.
    """

    classes: int
    training: int
    training_partitions: int
    evaluated: int = 0
    multi_label: bool = False


@dataclass(frozen=True)
class Facts:
    """Facts about a dataset, the rows that a configuration makes for it, and the machine.

    ``splits``: for each split, how many edges it has, or nodes to classify. ``bucket_counts``: training edges of each bucket,
    (p, p). ``stride``: bytes of a learned record. ``available_memory``: bytes that the process may still take.

    For runs with an encoder: ``features``: bytes of a node's features as stored, ``feature_width`` numbers; both 0 without
    features. ``lists``, ``all_lists``: bytes of the in-edges of the largest partition, and of all. ``merging``: what reading a
    partition's takes beside them. ``whole_graph_reason``: why the module of a user can only be run on the whole graph at once,
    and so cannot be evaluated; None where it can.
    ``nodes_to_classify``: None for other tasks.
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
    all_lists: int = 0
    merging: int = 0
    nodes_to_classify: NodeFacts | None = None
    whole_graph_reason: str | None = None
