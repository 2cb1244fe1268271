"""Which runs let neighbours count by the weights of their edges (`model.weight_unit`)."""

from __future__ import annotations

import itertools
import math

from marius_lite.config.encoder_memory import fanouts_of, uniform
from marius_lite.config.planning import Rules
from marius_lite.config.schema import Config

WEIGHING = ("gcn", "sage", "sgc", "sign")
"""Encoders that can let each neighbour count by a factor."""


def may_weigh(config: Config) -> bool:
    """Return whether neighbours may count by weights, and do so where nothing is said."""
    return config.model.encoder in WEIGHING and config.task == "node_classification" and uniform(config)


def weighs(config: Config) -> bool:
    """Return whether neighbours count by weights. It is resolved before training."""
    return config.model.weight_unit not in ("auto", 0)


def rules(config: Config) -> Rules:
    """Return the rules for runs whose neighbours cannot count by weights."""
    some, encoder, bounds = weighs(config), config.model.encoder, config.model.weight_bounds
    wanted = f"`model.weight_unit` is {config.model.weight_unit}, but"
    return [
        (
            bool(bounds) and encoder != "rgcn",
            f"`model.weight_bounds` is {list(bounds)}, but `model.encoder` is {encoder}: rgcn tells edges apart: set it to []",
        ),
        (
            any(low >= high for low, high in itertools.pairwise(bounds)) or not all(map(math.isfinite, bounds)),
            f"`model.weight_bounds` is {list(bounds)}: give finite numbers, each larger than the one before",
        ),
        (
            some and encoder not in WEIGHING,
            f"{wanted} `model.encoder` is {encoder}: neighbours count by weights for {', '.join(WEIGHING)}: remove it",
        ),
        (
            some and config.sampling.weighted,
            f"{wanted} `sampling.weighted` is true: neighbours that are drawn by weight would count twice by it: leave one out",
        ),
        (
            some and any(not isinstance(fanout, int) for fanout in fanouts_of(config)),
            f"{wanted} `sampling.fanouts` differ by relation: samples carry relations or weights, leave one out",
        ),
    ]
