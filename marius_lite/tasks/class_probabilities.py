"""Classify nodes with a checkpoint's model: the probability of each class, and the class or classes that follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.checkpoint.dense import load_weights, read_dense
from marius_lite.config import layerwise
from marius_lite.errors import UserError
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.nn.encoders import Encoder
from marius_lite.nn.encoders.one_layer import FirstLayers, RowLayer
from marius_lite.tasks.checkpoint import Checkpoint
from marius_lite.tasks.class_scores import open_scores
from marius_lite.tasks.labelling import labelling
from marius_lite.tasks.node_blocks import blocks, by_partition
from marius_lite.tasks.node_model import layer_classifier, make_classifier
from marius_lite.types import Ids

SPLITS = ("none", *NODE_SPLITS)
"""The names of the splits, by the codes that a dataset stores."""


class Classified(NamedTuple):
    """A block of classified nodes of one partition. ``nodes``: (n,) node ids, ascending. ``raw``: their raw ids.

    ``split``: (n,) uint8, places in SPLITS. ``answers``: as in `labelling.Predicted`. ``probabilities``: (n, classes) float32.
    """

    nodes: Ids
    raw: pa.Array
    split: npt.NDArray[np.uint8]
    answers: npt.NDArray[Any]
    probabilities: npt.NDArray[np.float32]


@contextmanager
def class_probabilities(checkpoint: Checkpoint, nodes: Ids | None = None) -> Iterator[Iterator[Classified]]:
    """Open the classes of ``nodes``, whose ids ascend, or of all nodes, as blocks of bounded size in order of node id.

    They follow from full neighbourhoods.
    """
    dataset, config = checkpoint.dataset, checkpoint.config
    labels = dataset.required_labels()
    model = open_classifier(checkpoint)
    with open_scores(dataset, config, model.encoder, checkpoint.table, checkpoint.run.path, nodes) as scores:

        def classified() -> Iterator[Classified]:
            partitioning, splits = dataset.partitioning, dataset.node_splits
            every = ((k, np.arange(partitioning.size(k))) for k in range(partitioning.partitions))
            for k, offsets in every if nodes is None else by_partition(nodes, partitioning.rows):
                codes = splits.read(k) if splits else np.zeros(partitioning.size(k), np.uint8)
                span = partitioning.range(k)
                raw = dataset.raw_ids(span.start, span.stop)
                for part in blocks(offsets, labels.classes):
                    predicted = labelling(dataset).predictions(scores.read(k, part, labels.classes), scores.calibration)
                    yield Classified(
                        part + span.start,
                        raw.take(pa.array(part)),
                        codes[part],
                        predicted.answers,
                        predicted.probabilities.astype(np.float32),
                    )

        yield classified()


def require_classes(checkpoint: Checkpoint) -> None:
    """Raise UserError for a checkpoint of another task."""
    if checkpoint.config.task != "node_classification":
        raise UserError(
            f"{checkpoint.run.path}: its task is {checkpoint.config.task}, so it has no classes: ask for links with --queries"
        )


def open_classifier(checkpoint: Checkpoint) -> NodeClassifier:
    """Return the model of a node-classification checkpoint, ready to evaluate."""
    config, model = checkpoint.config, make_classifier(checkpoint.dataset, checkpoint.config, trains=False)
    tensors = read_dense(checkpoint.path, checkpoint.state.dense)
    layer = layerwise.layer_of(config, checkpoint.state.cursor.last_epoch) if config.trains_layerwise else None
    if layer is None or layer == layerwise.layers(config) - 1:
        load_weights(model, tensors, checkpoint.path)
        return model.eval().to(checkpoint.device)
    assert isinstance(model.encoder, Encoder)
    last = RowLayer(model.encoder, layer, checkpoint.dataset.required_labels().classes)
    load_weights(layer_classifier(model, last), tensors, checkpoint.path)
    return NodeClassifier(FirstLayers(last), model.loss).eval().to(checkpoint.device)
