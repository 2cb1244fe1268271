"""Find what a model begins with: features, learned rows, or both."""

from __future__ import annotations

from marius_lite.config.facts import Facts
from marius_lite.config.schema import Config
from marius_lite.errors import UserError


def inputs_of(config: Config, facts: Facts) -> str:
    """Return the inputs of a run: features, embeddings or both. Raises UserError for features that the dataset lacks."""
    asked = config.model.inputs if config.model.encoder != "none" else "embeddings"
    if asked in ("features", "both") and not facts.features:
        raise UserError(
            f"`model.inputs` is {asked}, but the dataset has no features: preprocess with --features, or set "
            "`model.inputs` to embeddings"
        )
    inputs = asked if asked != "auto" else "features" if facts.features else "embeddings"
    if inputs == "embeddings" and config.model.normalize_features:
        way = str(config.model.normalize_features).lower()
        raise UserError(f"`model.normalize_features` is {way}, but there are no features to learn from: set it to false")
    return inputs


def input_stride(config: Config, facts: Facts) -> int:
    """Return the bytes of a node in all buffers together."""
    inputs = inputs_of(config, facts)
    return (facts.features if inputs != "embeddings" else 0) + (facts.stride if inputs != "features" else 0)


def input_width(config: Config, facts: Facts) -> int:
    """Return how many numbers a node has in the encoder's input."""
    inputs = inputs_of(config, facts)
    return (facts.feature_width if inputs != "embeddings" else 0) + (config.model.dim if inputs != "features" else 0)


def tables(config: Config, facts: Facts) -> int:
    """Return how many tables hold the inputs."""
    return 2 if inputs_of(config, facts) == "both" else 1
