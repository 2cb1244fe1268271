"""Make the model that classifies nodes, with its first weights, and read the nodes that it is trained on."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import torch

from marius_lite.config.directions import listed_relations
from marius_lite.config.schema import Config
from marius_lite.encode.encoders import initial_encoder
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.inputs import input_width
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.nn.encoders.one_layer import RowModel
from marius_lite.sampling.node_batches import TrainingNodes
from marius_lite.tasks.labelling import labelling, labelling_of
from marius_lite.tasks.node_blocks import blocks, by_partition


def make_classifier(dataset: Dataset, config: Config, trains: bool) -> NodeClassifier:
    """Return the model on the CPU, with its first weights, which follow from the run's seed.

    Where it ``trains``, its loss weighs classes as ``loss.class_weights`` says, by the labels of the training nodes.
    """
    labels = dataset.required_labels()
    encoder = initial_encoder(
        config, input_width(dataset, config), labels.classes, listed_relations(config, dataset.manifest.relations)
    )
    weights = None
    if trains and config.loss.class_weights != "none":
        weights = class_weights(config, training_nodes(dataset).labels, labels.classes)
    return NodeClassifier(encoder, labelling(dataset).loss, weights)


def layer_classifier(model: NodeClassifier, layer: RowModel) -> NodeClassifier:
    """Return the model that scores classes by one layer alone, with the loss of the whole ``model``."""
    return NodeClassifier(layer, model.loss, model.weights)


def class_weights(config: Config, labels: npt.NDArray[Any], classes: int) -> torch.Tensor | None:
    """Return ``loss.class_weights`` as float32 (classes,); None where all classes count alike.

    ``labels``: as `TrainingNodes` has them.
    """
    weights = config.loss.class_weights
    if weights == "none":
        return None
    if weights == "balanced":
        return torch.from_numpy(labelling_of(labels).balanced(labels, classes)).float()
    return torch.tensor(weights, dtype=torch.float32)


def training_nodes(dataset: Dataset) -> TrainingNodes:
    """Read the ids and labels of the training nodes. Raises UserError where there are none."""
    ids, labels = dataset.node_split("train"), dataset.required_labels()
    if not len(ids):
        raise UserError(f"{dataset.path}: no node is for training: preprocess with --train-nodes or --node-split")
    of_nodes, filled = labels.room(len(ids)), 0
    for k, offsets in by_partition(ids, dataset.partitioning.rows):
        read = labels.reader(k)
        for part in blocks(offsets, labels.classes):
            of_nodes[filled : filled + len(part)] = read(part)
            filled += len(part)
    return TrainingNodes(ids, of_nodes, dataset.partitioning.rows)
