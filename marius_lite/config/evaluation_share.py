"""Choose how much is evaluated while a run trains, so that it takes about a tenth of the time of training."""

from __future__ import annotations

from math import exp

from marius_lite.config.directions import listed_counts, listed_relations
from marius_lite.config.encoder_memory import fanouts_of, most_drawn
from marius_lite.config.facts import Facts
from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config, EvaluationSection

SHARE = 0.1
"""Time of evaluations over the time of training."""
MOST_EDGES = 10_000
"""The largest sample of edges. It tells an MRR to about 0.004."""
FEW_EDGES = 2_000
"""The smallest sample of edges. Fewer say too little, so epochs pass without an evaluation instead."""
SMALL_DIM = 96
"""With fewer numbers a node than these, a score in an evaluation costs more, by the ratio, than one in training: what is the same
for each score, such as counting ranks, is then most of it. Measured: 3.3 times at 32 numbers, on an AMD EPYC of family 25."""
ENCODED_NODE = 2.0
"""Time to compute a node's vector from all its neighbours, over the time to train on a node of a sampled neighbourhood. Measured:
1.5 to 2.5, on two graphs with wide features, with two encoders, on an AMD EPYC of family 25."""

LAYER_NODE = 0.3
"""Time to score a node by one layer, over the time to train the layer on it: a product instead of three."""


def with_share(config: Config, facts: Facts) -> EvaluationSection:
    """Return the evaluation section with ``every_epochs`` and ``max_edges`` as numbers. The split must exist."""
    settings, each = config.evaluation, _edges_an_epoch(config, facts)
    epochs = 1 if settings.every_epochs == "auto" else max(1, settings.every_epochs)
    most = settings.max_edges if settings.max_edges != "auto" else max(FEW_EDGES, min(MOST_EDGES, epochs * each))
    if settings.every_epochs != "auto":
        return settings.model_copy(update={"max_edges": most})
    if config.trains_layerwise:
        waited = LAYER_NODE * facts.splits[settings.split] / (SHARE * max(1, planning_of(config).items(facts)))
    elif config.model.encoder != "none":
        waited = ENCODED_NODE * facts.nodes / (SHARE * max(1.0, _nodes_an_epoch(config, facts)))
    else:
        waited = min(most, facts.splits[settings.split]) / max(1, each)
    every = max(1, min(config.training.epochs, round(waited)))
    return settings.model_copy(update={"every_epochs": every, "max_edges": most})


def _edges_an_epoch(config: Config, facts: Facts) -> int:
    """Return how many edges can be ranked in a tenth of an epoch's time, or less.

    A score in training is taken to cost as much as a score in an evaluation. Training needs three matrix products for it instead
    of one, but in mixed precision; an evaluation also prepares and filters. Measured: a score in training costs 1.8 times as
    much, on an AMD EPYC of family 25.
    """
    negatives, candidates = config.negatives.count, config.evaluation.candidates
    scores = facts.nodes if negatives == "all" else negatives + 1
    ranked = facts.nodes if candidates == "all" else min(candidates, facts.nodes)
    cost = max(1.0, SMALL_DIM / config.model.dim)
    return int(SHARE * int(facts.bucket_counts.sum()) * scores / max(1, ranked) / cost)


def _nodes_an_epoch(config: Config, facts: Facts) -> float:
    """Return how many nodes are in all the neighbourhoods that an epoch samples, if all neighbours are drawn alike.

    Cluster batches have every node once.
    """
    if config.trains_clusters:
        return facts.nodes
    planning = planning_of(config)
    items = planning.items(facts)
    size = max(1, min(items, config.lane_batch))
    seeds = min(planning.seeds(config, size, facts.nodes), facts.nodes)
    return items / size * _neighbourhood_nodes(config, facts, seeds)


def _neighbourhood_nodes(config: Config, facts: Facts, seeds: int) -> float:
    """Return how many nodes are in one neighbourhood.

    A hop also draws nodes that are already in it; the more there are, the more often.
    """
    degree = int(listed_counts(config, facts.bucket_counts).sum()) / facts.nodes
    relations = listed_relations(config, facts.relations)
    found = newest = float(seeds)
    for fanout in fanouts_of(config):
        drawn = newest * (degree if fanout == -1 else min(degree, most_drawn(fanout, relations)))
        newest = (facts.nodes - found) * (1 - exp(-drawn / facts.nodes))
        found += newest
    return found
