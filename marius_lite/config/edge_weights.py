"""Which runs let neighbours count by the weights of their edges (`model.weight_unit`)."""

from __future__ import annotations

from marius_lite.config.encoder_memory import fanouts_of
from marius_lite.config.planning import Rules
from marius_lite.config.schema import Config

WEIGHING = ("gcn", "sage", "sgc", "sign")
"""Encoders that can let each neighbour count by a factor."""


def may_weigh(config: Config) -> bool:
    """Return whether neighbours may count by weights, and do so where nothing is said."""
    asked = config.sampling.fanouts
    by_relation = asked != "auto" and not all(isinstance(fanout, int) for fanout in fanouts_of(config))
    return (
        config.model.encoder in WEIGHING
        and config.task == "node_classification"
        and not config.sampling.weighted
        and not by_relation
    )


def rules(config: Config) -> Rules:
    """Return the rules for runs whose neighbours cannot count by weights."""
    unit, encoder = config.model.weight_unit, config.model.encoder
    some = unit not in ("auto", 0)
    wanted = f"`model.weight_unit` is {unit}, but"
    return [
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
