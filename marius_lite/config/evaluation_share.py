"""How much is evaluated while a run trains: about a tenth of the time that training itself takes."""

from __future__ import annotations

from marius_lite.config.facts import Facts
from marius_lite.config.schema import Config, EvaluationSection

SHARE = 0.1
MOST_EDGES = 10_000
"""A sample of so many edges tells an MRR to about 0.004."""
FEW_EDGES = 1_000
LONGEST_WAIT = 5
"""Epochs between evaluations of link prediction, at most: checkpoints and learning rates follow them."""
PRODUCTS = 3
"""Matrix products that a score costs while training: its own, and two for gradients."""
ENCODED_EVALUATIONS = 20
"""Evaluations of a run with an encoder: each takes every node's full neighbourhood, whatever an epoch trains."""


def with_share(config: Config, facts: Facts) -> EvaluationSection:
    """``every_epochs`` and ``max_edges`` as numbers. The split must be there."""
    settings = config.evaluation
    most = settings.max_edges if settings.max_edges != "auto" else _edges_at_most(config, facts)
    if settings.every_epochs != "auto":
        return settings.model_copy(update={"max_edges": most})
    if config.model.encoder != "none":
        every = max(1, config.training.epochs // ENCODED_EVALUATIONS)
        return settings.model_copy(update={"every_epochs": every, "max_edges": most})
    asked = min(most, facts.splits[settings.split])
    every = max(1, min(LONGEST_WAIT, config.training.epochs, -(-asked // max(1, _edges_an_epoch(config, facts)))))
    return settings.model_copy(update={"every_epochs": every, "max_edges": most})


def _edges_at_most(config: Config, facts: Facts) -> int:
    """Of an evaluation, where it comes every few epochs."""
    every = config.evaluation.every_epochs
    epochs = LONGEST_WAIT if every == "auto" else max(every, 1)
    return max(FEW_EDGES, min(MOST_EDGES, epochs * _edges_an_epoch(config, facts)))


def _edges_an_epoch(config: Config, facts: Facts) -> int:
    """Edges whose ranking among all nodes, or the candidates, takes a tenth of an epoch's arithmetic."""
    negatives, candidates = config.negatives.count, config.evaluation.candidates
    scores = facts.nodes if negatives == "all" else negatives + 1
    ranked = facts.nodes if candidates == "all" else min(candidates, facts.nodes)
    return int(SHARE * int(facts.bucket_counts.sum()) * PRODUCTS * scores / max(1, ranked))
