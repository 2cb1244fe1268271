"""Train an encoder one layer after another (``training.method: layerwise``): layers, epochs, and what each needs.

All nodes take from their neighbours once for each layer. The layer is then trained on these rows, as if they were the features of
a graph without edges, with a head of its own that makes scores of its results. Then it stays as it is, and the next layer
follows (L-GCN, You et al., CVPR 2020). No neighbourhood is sampled, and no memory grows with the graph.

Where hops have no weights (sgc, sign), all of them are made before the first layer, which is the only one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from marius_lite.config.facts import Facts
from marius_lite.config.inputs import input_width, inputs_of
from marius_lite.config.planning import Rules
from marius_lite.config.schema import Config
from marius_lite.config.sizes import LISTED_NODE_BYTES, padded_width
from marius_lite.errors import UserError

GATHERED = {"gcn": 1, "sage": 2}
"""Encoders whose layers gather before they map, and how many numbers they gather for each number of their input."""


def layers(config: Config) -> int:
    """Return how many layers are trained one after another."""
    return 1 if config.propagates else len(config.model.layers) + 1


def layer_epochs(config: Config) -> int:
    """Return how many epochs each layer but the last is trained; at least as many remain for the last one."""
    asked = config.training.layer_epochs
    return config.training.epochs // layers(config) if asked == "auto" else asked


def first_epoch(config: Config, layer: int) -> int:
    """Return the epoch with which a layer's training begins."""
    return layer * layer_epochs(config)


def layer_of(config: Config, epoch: int) -> int:
    """Return the layer that is trained in an epoch."""
    return min(epoch // layer_epochs(config), layers(config) - 1)


def of_layer(config: Config, layer: int) -> Config:
    """Return the configuration of one layer's training. Early stopping is for the last layer: others get what is theirs."""
    last = layer == layers(config) - 1
    training: dict[str, object] = {"method": "sampled", "layer_epochs": "auto"}
    if not last:
        training |= {"epochs": first_epoch(config, layer + 1), "early_stopping": 0}
    changes = {
        "model": {
            "layers": (),
            "normalize_features": False,
            "inputs": "features",
            "codes": {},
            "weight_unit": 0.0,
            "directions": "in",
            "input_dropout": config.model.dropout if layer else config.model.input_dropout,
        },
        "sampling": {"fanouts": (0,), "device": "cpu", "lists": "memory"},
        "training": training,
    }
    sections = {name: getattr(config, name).model_copy(update=change) for name, change in changes.items()}
    return config.model_copy(update=sections)


def gathered_bytes(config: Config, in_width: int) -> int:
    """Return the most bytes on disk of a node while a layer is gathered: its input, what it gathers, and what the last one did.

    0 where layers are not trained one after another. ``in_width``: how many numbers of a node the first layer gets.
    """
    if not config.trains_layerwise:
        return 0
    if config.propagates:
        hops, keeps = config.model.hops, config.model.encoder == "sign"
        copies = [hop + 1 if keeps else 1 for hop in range(hops + 1)] if hops else [1, 1]
        return max(_row_bytes(before * in_width) + _row_bytes(after * in_width) for before, after in pairwise(copies))
    times, widths = GATHERED[config.model.encoder], (in_width, *config.model.layers)
    gathered = [_row_bytes(times * width) for width in widths]
    return max(before + _row_bytes(width) + own for before, width, own in zip((0, *gathered), widths, gathered))


def _row_bytes(width: int) -> int:
    return 4 * padded_width(width, np.float32)


def as_trained(config: Config, facts: Facts) -> tuple[Config, Facts]:
    """Return the settings and the facts that a run's memory follows from.

    Where layers are trained one after another, they are those of the layer with the widest rows, over a graph without edges.
    Raises UserError there for a dataset without features.
    """
    if not config.trains_layerwise:
        return config, facts
    if inputs_of(config, facts) != "features":
        raise UserError("`training.method` is layerwise, but the dataset has no features to gather: preprocess with --features")
    width, hidden = _widest(config, input_width(config, facts))
    lists = LISTED_NODE_BYTES * (facts.rows_per_partition + 1)
    # A layer has results and, but for the last, a head. To gather takes as much memory as an evaluation, whether or not there are
    # evaluations.
    every = max(1, int(config.evaluation.every_epochs))
    changes = {
        "model": {"layers": hidden},
        "sampling": {"fanouts": (0,) * (len(hidden) + 1)},
        "evaluation": {"every_epochs": every},
    }
    trained = of_layer(config, 0)
    sections = {name: getattr(trained, name).model_copy(update=change) for name, change in changes.items()}
    return trained.model_copy(update=sections), replace(
        facts, features=_row_bytes(width), feature_width=width, lists=lists, all_lists=lists * facts.partitions
    )


def _widest(config: Config, in_width: int) -> tuple[int, tuple[int, ...]]:
    """Return how many numbers of a node a layer is trained on at most, and the widths of what it makes of them."""
    widths = config.model.layers
    if config.propagates:
        copies = config.model.hops + 1 if config.model.encoder == "sign" else 1
        return copies * in_width, tuple(width * (copies if place == 0 else 1) for place, width in enumerate(widths))
    return GATHERED[config.model.encoder] * max([in_width, *widths]), (max(widths),) if widths else ()


def rules(config: Config) -> Rules:
    """Return the rules of settings for training one layer after another."""
    if not config.trains_layerwise:
        asked = config.training.layer_epochs
        return [
            (
                config.propagates,
                f"`model.encoder` is {config.model.encoder}, but `training.method` is {config.training.method}: it learns from "
                "what all nodes have taken once, set it to layerwise",
            ),
            (
                asked != "auto",
                f"`training.layer_epochs` is {asked}, but `training.method` is {config.training.method}: remove it",
            ),
        ]
    model, wanted = config.model, "`training.method` is layerwise, but"
    each, all_layers = layer_epochs(config), layers(config)
    return [
        (config.task != "node_classification", f"{wanted} `task` is {config.task}: it trains classes of nodes alone"),
        (
            model.encoder not in GATHERED and not config.propagates,
            f"{wanted} `model.encoder` is {model.encoder}: choose gcn, sage, sgc or sign, which gather before they map",
        ),
        (model.residual, f"{wanted} `model.residual` is true: a layer is trained without the one before it, set it to false"),
        (model.inputs not in ("auto", "features"), f"{wanted} `model.inputs` is {model.inputs}: only features are gathered once"),
        (config.sampling.weighted, f"{wanted} `sampling.weighted` is true: all neighbours are taken, set it to false"),
        (config.sampling.lists == "disk", f"{wanted} `sampling.lists` is disk: nothing is sampled, remove it"),
        (config.sampling.device == "cuda", f"{wanted} `sampling.device` is cuda: nothing is sampled, remove it"),
        (
            config.sampling.refresh_epochs > 1,
            f"{wanted} `sampling.refresh_epochs` is {config.sampling.refresh_epochs}: nothing is sampled, remove it",
        ),
        (
            each < 1 or each * (all_layers - 1) >= config.training.epochs,
            f"{wanted} `training.epochs` is {config.training.epochs} and `training.layer_epochs` "
            f"{config.training.layer_epochs}: {all_layers} layers need {all_layers} epochs at least, and each but the last takes "
            "`layer_epochs` of them",
        ),
    ]
