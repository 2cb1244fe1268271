"""How much is evaluated while a run trains: about a tenth of the time that training itself takes."""

from __future__ import annotations

from math import exp

from marius_lite.config.encoder_memory import fanouts_of, most_drawn
from marius_lite.config.facts import Facts
from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config, EvaluationSection

SHARE = 0.1
MOST_EDGES = 10_000
"""A sample of so many edges tells an MRR to about 0.004."""
FEW_EDGES = 2_000
"""Fewer tell too little: rather than that, epochs pass without an evaluation."""
ENCODED_NODE = 2.0
"""Time to work out a node's vector from all its neighbours, against training on a node of a sampled neighbourhood: 1.5 to 2.5
were measured on two graphs, with wide features and two encoders, on an AMD EPYC of family 25."""


def with_share(config: Config, facts: Facts) -> EvaluationSection:
    """Return the evaluation section with ``every_epochs`` and ``max_edges`` as numbers. The split must exist."""
    settings, each = config.evaluation, _edges_an_epoch(config, facts)
    epochs = 1 if settings.every_epochs == "auto" else max(1, settings.every_epochs)
    most = settings.max_edges if settings.max_edges != "auto" else max(FEW_EDGES, min(MOST_EDGES, epochs * each))
    if settings.every_epochs != "auto":
        return settings.model_copy(update={"max_edges": most})
    if config.model.encoder != "none":
        waited = ENCODED_NODE * facts.nodes / (SHARE * max(1.0, _nodes_an_epoch(config, facts)))
    else:
        waited = min(most, facts.splits[settings.split]) / max(1, each)
    every = max(1, min(config.training.epochs, round(waited)))
    return settings.model_copy(update={"every_epochs": every, "max_edges": most})


def _edges_an_epoch(config: Config, facts: Facts) -> int:
    """Edges whose ranking among all nodes, or the candidates, takes a tenth of an epoch's time, or less.

    A score of training counts as one of an evaluation: it takes three matrix products instead of one, but in mixed precision, and
    an evaluation sets up and filters besides. Measured: 1.8 on an AMD EPYC of family 25.
    """
    negatives, candidates = config.negatives.count, config.evaluation.candidates
    scores = facts.nodes if negatives == "all" else negatives + 1
    ranked = facts.nodes if candidates == "all" else min(candidates, facts.nodes)
    return int(SHARE * int(facts.bucket_counts.sum()) * scores / max(1, ranked))


def _nodes_an_epoch(config: Config, facts: Facts) -> float:
    """Nodes of the neighbourhoods that an epoch samples, where all neighbours are drawn alike."""
    planning = planning_of(config)
    items = planning.items(facts)
    size = max(1, min(items, config.training.batch_size))
    seeds = min(planning.seeds(config, size, facts.nodes), facts.nodes)
    return items / size * _neighborhood_nodes(config, facts, seeds)


def _neighborhood_nodes(config: Config, facts: Facts, seeds: int) -> float:
    """Nodes of one neighbourhood: what a hop draws are nodes found before, too, the more of them the more there are."""
    degree = int(facts.bucket_counts.sum()) / facts.nodes
    found = newest = float(seeds)
    for fanout in fanouts_of(config):
        drawn = newest * (degree if fanout == -1 else min(degree, most_drawn(fanout, facts.relations)))
        newest = (facts.nodes - found) * (1 - exp(-drawn / facts.nodes))
        found += newest
    return found
