"""How much is evaluated while a run trains: about a tenth of the time that training itself takes."""

from __future__ import annotations

from marius_lite.config.facts import Facts
from marius_lite.config.schema import Config, EvaluationSection

SHARE = 0.1
MOST_EDGES = 10_000
"""A sample of so many edges tells an MRR to about 0.004."""
FEW_EDGES = 2_000
"""Fewer tell too little: rather than that, epochs pass without an evaluation."""
ENCODED_EVALUATIONS = 20
"""Evaluations of a run with an encoder: each takes every node's full neighbourhood, whatever an epoch trains."""


def with_share(config: Config, facts: Facts) -> EvaluationSection:
    """``every_epochs`` and ``max_edges`` as numbers. The split must be there."""
    settings, each = config.evaluation, _edges_an_epoch(config, facts)
    epochs = 1 if settings.every_epochs == "auto" else max(1, settings.every_epochs)
    most = settings.max_edges if settings.max_edges != "auto" else max(FEW_EDGES, min(MOST_EDGES, epochs * each))
    if settings.every_epochs != "auto":
        return settings.model_copy(update={"max_edges": most})
    if config.model.encoder != "none":
        every = config.training.epochs // ENCODED_EVALUATIONS
    else:
        every = round(min(most, facts.splits[settings.split]) / max(1, each))
    every = max(1, min(config.training.epochs, every))
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
