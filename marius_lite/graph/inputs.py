"""What a model begins with, of a dataset: features, learned rows, or both side by side. Of a resolved configuration."""

from __future__ import annotations

from marius_lite.config.directions import apart
from marius_lite.config.edge_weights import weighs
from marius_lite.config.layerwise import gathered_bytes
from marius_lite.config.schema import Config
from marius_lite.graph.adjacency import Adjacency
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.features import Features
from marius_lite.graph.gathered import NoEdges
from marius_lite.graph.graded import GradedLists
from marius_lite.graph.turned import TurnedLists


def features_read(dataset: Dataset, config: Config) -> Features | None:
    """The features that a run reads; None where it reads none."""
    return dataset.features if config.reads_features else None


def lists_read(dataset: Dataset, config: Config) -> Adjacency | None:
    """The in-edge lists that a run samples from; None where it has no encoder.

    They have factors where weights of edges count, or relations by weights, and turned edges where nodes take from these. They
    are empty where nodes are seen by themselves.
    """
    if config.propagates and config.model.hops == 0:
        return NoEdges(dataset.partitioning)  # type: ignore[return-value]
    lists = dataset.adjacency if config.encodes else None
    if lists is None:
        return None
    if weighs(config):
        lists = lists.weighing(float(config.model.weight_unit))
    wanted, bounds = config.model.directions, config.model.weight_bounds
    if wanted != "in":
        named = dataset.manifest.relations if apart(config) else 0
        lists = TurnedLists(lists, dataset.edges("train"), wanted == "both", named, counted=config.model.degrees_apart)
    return GradedLists(lists, bounds) if bounds else lists


def lists_by_turns(dataset: Dataset) -> Adjacency:
    """Return the lists that first rows are mixed along by turns: both ends of edges, whatever their weights. Turned edges are
    relations of their own."""
    assert dataset.adjacency is not None
    return TurnedLists(dataset.adjacency, dataset.edges("train"), True, dataset.manifest.relations)


def feature_width(dataset: Dataset, config: Config) -> int:
    """How many numbers of a node are features."""
    features = features_read(dataset, config)
    return features.width if features is not None else 0


def input_width(dataset: Dataset, config: Config) -> int:
    """How many numbers of a node a model begins with: features, a 0 or 1 for each of their codes, learned ones, then a 0 or 1 for
    each class where some are known."""
    known = dataset.required_labels().classes if config.model.known_classes else 0
    return feature_width(dataset, config) + config.model.code_columns + config.learned_width + known


def gathered_disk(dataset: Dataset, config: Config) -> int:
    """The most bytes on disk while nodes gather for a layer; 0 where layers are not trained one after another."""
    return dataset.partitioning.rows * dataset.partitioning.partitions * gathered_bytes(config, input_width(dataset, config))
