"""Compare edges with few nodes in a run's first epochs (`negatives.first_epochs`): in how many, and how short they are.

Where an edge is compared with many nodes, products with these are most of an epoch. What a model learns first, it learns from a
few hundred as well, in a part of the time. Later epochs go on from there.
"""

from __future__ import annotations

from math import ceil

from marius_lite.config.encoder_memory import resident
from marius_lite.config.facts import Facts
from marius_lite.config.memory import negatives_shape
from marius_lite.config.planning import Rules
from marius_lite.config.schema import Config

FIRST_EPOCHS = 4
"""The first epochs of a long run, where the configuration leaves them open. With ten, one ended lower that is best after six."""
LEAST_LATER = 2
"""How many times as many epochs follow them, at least."""
LEAST_DRAWN, LEAST_OF_ALL = 4, 20
"""How many times as many nodes later epochs compare an edge with, at least: drawn ones, or all. Where all are few, epochs are
short in any case, and runs ended a little lower that had begun with a part of them (2,570 nodes)."""
EDGE_SCORES = 400
"""The time that an edge takes beside its scores, in scores. Measured with 256 and 1,024 numbers a node, on an AMD EPYC of family
25: 300 to 700."""


def first_epochs(config: Config, facts: Facts, capacity: int) -> int:
    """Return in how many epochs edges are compared with few nodes. ``capacity``: how many partitions are resident."""
    negatives, epochs = config.negatives, config.training.epochs
    if negatives.first_epochs != "auto":
        return negatives.first_epochs
    nodes = resident(facts, capacity).nodes
    later, least = (nodes, LEAST_OF_ALL) if negatives.count == "all" else (negatives.count, LEAST_DRAWN)
    if config.task != "link_prediction" or negatives.log_q or later < least * negatives.first_count:
        return 0
    return min(FIRST_EPOCHS, epochs // (1 + LEAST_LATER))


def without_first(config: Config) -> Config:
    """Return the configuration of a run whose rows are trained already."""
    return config.model_copy(update={"negatives": config.negatives.model_copy(update={"first_epochs": 0})})


def first_time(config: Config, nodes: int) -> float:
    """Return the time of a first epoch over that of a later one. ``nodes``: those in memory."""
    _, _, later = negatives_shape(config, nodes)
    return (EDGE_SCORES + min(config.negatives.first_count, later)) / (EDGE_SCORES + later)


def first_evaluated(config: Config) -> int:
    """Return after how many of the first epochs an evaluation follows, so that evaluations take about the share of time that they
    take later. Where later epochs compare edges with all nodes, however many these are, it is all of them."""
    first, every = config.first_epochs, int(config.evaluation.every_epochs)
    return first if config.negatives.count == "all" else min(first, ceil(every / first_time(config, 0)))


def told(config: Config, nodes: int) -> list[str]:
    """Say, in one line, what the first epochs compare, if it is something else than later ones do. ``nodes``: those in memory."""
    if not (first := config.first_epochs):
        return []
    count, one, evaluated = config.negatives.count, first == 1, ""
    if config.evaluation.every_epochs:
        evaluated = f"; epoch {first_evaluated(config)} is the first that is evaluated"
    return [
        f"{'epoch 1 compares' if one else f'epochs 1 to {first} compare'} an edge with {config.negatives.first_count:,} random "
        f"nodes, later ones with {'all' if count == 'all' else f'{count:,}'}, and {'takes' if one else 'take'} about "
        f"{first_time(config, nodes):.0%} of their time{evaluated}"
    ]


def rules(config: Config) -> Rules:
    """Return the rules of settings for the first epochs."""
    negatives, first = config.negatives, config.first_epochs
    return [
        (
            first > 0 and config.task != "link_prediction",
            f"`negatives.first_epochs` is {first}, but `task` is {config.task}: only links are compared with others, remove it",
        ),
        (
            first > 0 and negatives.log_q,
            f"`negatives.first_epochs` is {first}, but `negatives.log_q` is true: scores are corrected for one number of "
            "negatives, set one of both to 0 or false",
        ),
        (
            first > 0 and negatives.count != "all" and negatives.first_count >= negatives.count,
            f"`negatives.first_epochs` is {first}, but `negatives.first_count` is {negatives.first_count} and `negatives.count` "
            f"{negatives.count}: the first epochs have fewer, lower first_count or remove first_epochs",
        ),
    ]
