"""Gather the facts that `config.resolve` needs, from a dataset and from the machine."""

from __future__ import annotations

from dataclasses import replace

from marius_lite.config import machine
from marius_lite.config.edge_weights import weighs
from marius_lite.config.facts import Facts, NodeFacts
from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config
from marius_lite.config.sizes import LISTED_NODE_BYTES
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.fanouts import hop_fanouts
from marius_lite.graph.inputs import lists_read
from marius_lite.storage.record import record_of

EDGE_BYTES = 40
"""Bytes that an edge in memory takes, about, with its place in the in-edge lists."""
BESIDE_ROWS = 2 << 30
"""Bytes that batches and the evaluation take, about, at most."""


def facts_of(dataset: Dataset, config: Config, cuda: bool) -> Facts:
    """Return the facts for ``config``. Raises UserError where the dataset lacks what it needs."""
    record = record_of(config.optimizer.rows.name, config.model.dim, config.storage.row_dtype)
    to_classify = node_facts(dataset) if planning_of(config).unit == "nodes" else None
    splits = dataset.node_counts if to_classify else dataset.manifest.edges
    found = Facts(
        nodes=dataset.manifest.nodes,
        relations=dataset.manifest.relations,
        splits=splits,
        partitions=dataset.partitioning.partitions,
        rows_per_partition=dataset.partitioning.rows,
        bucket_counts=dataset.edges("train").counts,
        stride=record.stride,
        available_memory=_memory(dataset, config, record.stride),
        threads=machine.cpu_threads(),
        cuda=cuda,
        nodes_to_classify=to_classify,
    )
    return _with_encoder(found, dataset, config) if config.encodes else found


def _memory(dataset: Dataset, config: Config, stride: int) -> int:
    """Return the bytes that this process may still take. Where ``storage.memory`` is auto, no more is looked for than helps.

    A run takes half of it by itself, so that twice what everything resident takes is enough.
    """
    if config.storage.memory != "auto":
        return machine.available_memory()
    features = dataset.features
    rows = dataset.manifest.nodes * (stride + (features.stride if features else 0))
    return machine.reachable_memory(2 * (rows + dataset.manifest.edges["train"] * EDGE_BYTES + BESIDE_ROWS))


def _with_encoder(facts: Facts, dataset: Dataset, config: Config) -> Facts:
    """Return the facts with those that only an encoder needs."""
    hop_fanouts(config, dataset)  # UserError for an unknown relation, before anything is planned or written
    features, lists = dataset.features, lists_read(dataset, config)
    return replace(
        facts,
        features=features.stride if features else 0,
        feature_width=features.width if features else 0,
        lists=list_bytes(dataset, config),
        merging=lists.merging_bytes(config.sampling.weighted or weighs(config)) if lists is not None else 0,
        all_lists=all_list_bytes(dataset, config),
    )


def list_bytes(dataset: Dataset, config: Config) -> int:
    """Return the bytes of the in-edges of the largest partition. Raises UserError where they, or their weights, are missing."""
    adjacency = lists_read(dataset, config)
    if adjacency is None:
        raise UserError(f"{dataset.path}: `model.encoder` needs a dataset preprocessed with --adjacency in")
    if config.sampling.weighted and not adjacency.has_weights:
        raise UserError(
            f"{dataset.path}: `sampling.weighted` is true, but its edges have no weights: preprocess edges with "
            "weights, or leave it out"
        )
    if adjacency.weighs and not adjacency.has_weights:
        raise UserError(
            f"{dataset.path}: `model.weight_unit` is {adjacency.unit}, but its edges have no weights: preprocess edges with "
            "weights, or leave it out"
        )
    if config.model.weight_bounds and not adjacency.has_weights:
        raise UserError(
            f"{dataset.path}: `model.weight_bounds` is {list(config.model.weight_bounds)}, but its edges have no weights: "
            "preprocess edges with weights, or leave it out"
        )
    edges = int(adjacency.held.max(initial=0))
    return edges * adjacency.edge_bytes(config.sampling.weighted) + (dataset.partitioning.rows + 1) * LISTED_NODE_BYTES


def all_list_bytes(dataset: Dataset, config: Config) -> int:
    """Return the bytes of the in-edges of all partitions."""
    adjacency, p = lists_read(dataset, config), dataset.partitioning
    assert adjacency is not None
    edges = int(adjacency.held.sum())
    return edges * adjacency.edge_bytes(config.sampling.weighted) + (p.nodes + p.partitions) * LISTED_NODE_BYTES


def node_facts(dataset: Dataset) -> NodeFacts:
    """Return the facts for node classification. Raises UserError, with the options of `preprocess`, for what is missing."""
    labels = dataset.labels
    missing = [
        option
        for option, there in (
            ("--labels", labels),
            ("--train-nodes or --node-split", dataset.node_counts),
            ("--adjacency in", dataset.adjacency),
        )
        if not there
    ]
    if labels is None or missing:
        raise UserError(f"{dataset.path}: `task` node_classification needs a dataset preprocessed with {', '.join(missing)}")
    counts = dataset.node_counts
    return NodeFacts(
        labels.classes,
        counts["train"],
        dataset.manifest.training_partitions or 1,
        max(counts.values()),
        bool(dataset.manifest.multi_label),
    )
