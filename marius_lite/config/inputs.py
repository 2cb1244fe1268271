"""Find what a model begins with: features, learned rows, or both."""

from __future__ import annotations

from marius_lite.config.directions import listed_relations
from marius_lite.config.facts import Facts
from marius_lite.config.schema import Config
from marius_lite.errors import UserError

FIRST_HOPS = 8
"""Hops over which first rows are mixed where nodes are classified without features: `scripts/bench/made_up.py`."""
FEW_COLUMNS = 0.1
"""Columns for each training node below which none is set to zero."""


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
    outside = [column for column in config.model.codes if inputs == "embeddings" or column >= facts.feature_width]
    if outside:
        there = f"columns 0 to {facts.feature_width - 1}" if inputs != "embeddings" else "none to learn from"
        raise UserError(f"`model.codes` has column {outside[0]} of the features, but there are {there}: leave it out")
    return inputs


def input_stride(config: Config, facts: Facts) -> int:
    """Return the bytes of a node in all buffers together."""
    inputs = inputs_of(config, facts)
    return (facts.features if inputs != "embeddings" else 0) + (facts.stride if inputs != "features" else 0)


def input_width(config: Config, facts: Facts) -> int:
    """Return how many numbers a node has in the encoder's input."""
    inputs = inputs_of(config, facts)
    features = facts.feature_width + config.model.code_columns if inputs != "embeddings" else 0
    known = facts.nodes_to_classify.classes if config.model.known_classes and facts.nodes_to_classify else 0
    return features + (config.model.dim if inputs != "features" else 0) + known


def input_dropout(config: Config, facts: Facts) -> float:
    """Return the share of an encoder's input numbers that training sets to zero. 0 for links: the model drops what encoders give.

    Setting a share p of the columns to zero acts as ridge regression whose penalty is p / (1 - p) of their variance (Wager, Wang,
    Liang, NeurIPS 2013). With as much noise as signal the best penalty is columns / training nodes, where the neighbours of each
    hop add columns of their own. With far fewer columns, half of the input set to zero only blurs it. The codes of a column count
    as one: of their 0 and 1 a node has one 1, and without it nothing says which.
    """
    asked, nodes = config.model.input_dropout, facts.nodes_to_classify
    if nodes is None or asked != "auto":
        return 0.0 if asked == "auto" else asked
    apart = listed_relations(config, facts.relations) if config.model.encoder == "rgcn" else 1
    columns = facts.feature_width * (1 + config.convolutions * apart)
    few = inputs_of(config, facts) == "features" and columns < FEW_COLUMNS * nodes.training
    return 0.0 if few else config.model.dropout


def first_hops(config: Config, facts: Facts) -> int:
    """Return over how many hops first rows are mixed. Raises UserError where no rows are learned, or nodes have no neighbours.

    Rows of links are all trained by what is linked. Of nodes to classify only those are that a training node reaches.
    """
    asked, encoded, inputs = config.init.hops, config.model.encoder != "none", inputs_of(config, facts)
    if asked == "auto":
        return FIRST_HOPS if encoded and inputs == "embeddings" and config.task == "node_classification" else 0
    if asked and (not encoded or inputs == "features"):
        why = "is none, so nodes have no neighbours" if not encoded else "begins with features alone"
        raise UserError(f"`init.hops` is {asked}, but `model.encoder` {why}: set it to 0")
    return asked


def tables(config: Config, facts: Facts) -> int:
    """Return how many tables hold the inputs."""
    return 2 if inputs_of(config, facts) == "both" else 1
