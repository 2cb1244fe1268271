"""What a model begins with: as wide as the features and learned rows that a configuration asks for, and nothing else is read."""

import pytest
from open_parts import ENCODER, LINKS

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.inputs import feature_width, features_read, input_width, lists_read

PAIRS = [("none", "embeddings"), ("sage", "features"), ("sage", "embeddings"), ("sage", "both")]
LAYERS = ["model.layers=[6]", "sampling.fanouts=[4,4]"]


def config_of(*more):
    return load(sets=[*LINKS, *ENCODER, *LAYERS, *more])


@pytest.mark.parametrize(("inputs", "features", "learned"), [("features", 8, 0), ("embeddings", 0, 8), ("both", 8, 8)])
def test_numbers_that_a_node_begins_with(featured, inputs, features, learned):
    dataset, config = Dataset.open(featured), config_of(f"model.inputs={inputs}")
    assert (feature_width(dataset, config), input_width(dataset, config)) == (features, features + learned)
    if features:
        config = config_of(f"model.inputs={inputs}", "model.codes={2: [0, 1, 2], 7: [5]}")
        assert (feature_width(dataset, config), input_width(dataset, config)) == (features, features + 4 + learned)


@pytest.mark.parametrize(("encoder", "inputs"), PAIRS)
def test_only_what_is_asked_for_is_read(featured, encoder, inputs):
    dataset = Dataset.open(featured)
    config = load(sets=[*LINKS, f"model.encoder={encoder}", f"model.inputs={inputs}"])
    assert (features_read(dataset, config) is not None) == (inputs != "embeddings")
    assert (lists_read(dataset, config) is not None) == (encoder != "none")
