"""The encoder of a configuration: its weights follow from the seed, and each layer has its weight decay."""

import pytest
import torch
from open_parts import ENCODER, LINKS

from marius_lite.config.load import load
from marius_lite.encode.encoders import initial_encoder, weight_decays
from marius_lite.errors import UserError
from marius_lite.nn.encoders import CustomEncoder

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
LAYERS = ["model.layers=[6]", "sampling.fanouts=[4,4]"]


def config_of(*more):
    return load(sets=[*LINKS, *ENCODER, *LAYERS, *more])


@pytest.mark.parametrize("name", ["sage", "gcn", "gat", "rgcn"])
def test_weights_follow_from_the_seed(name):
    first, again, other = (
        initial_encoder(config_of(f"model.encoder={name}", f"training.seed={seed}"), 8, 4, 3).state_dict() for seed in (0, 0, 1)
    )
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


@pytest.mark.parametrize("name", ["sage", "gcn", "gat", "rgcn", "torch_geometric.nn.models:GraphSAGE"])
def test_each_weight_of_a_layer_has_the_layers_decay(name):
    config = config_of(f"model.encoder={name}", "optimizer.dense.weight_decay=[0.5,0.25]")
    encoder = initial_encoder(config, 8, 4, 3)
    decays = weight_decays(config, encoder)
    for key, _ in encoder.named_parameters():
        (found,) = [value for prefix, value in decays.items() if f"encoder.{key}".startswith(prefix)]
        assert found == {"0": 0.5, "1": 0.25}[next(part for part in key.split(".") if part.isdigit())]


def test_one_number_is_every_weights():
    assert weight_decays(config_of("optimizer.dense.weight_decay=0.1"), None) == {"": 0.1}


def test_layers_that_are_not_known_have_no_numbers_of_their_own():
    config = config_of("model.encoder=torch.nn:Linear", "optimizer.dense.weight_decay=[0.5,0.25]")
    with pytest.raises(UserError, match="give one number for all"):
        weight_decays(config, CustomEncoder(torch.nn.Linear(8, 4), 4))
