"""The model of links: its first relations follow from the seed, its objective is what the configuration asks for."""

import pytest
import torch
from open_parts import ENCODER, LINKS

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.tasks.link_model import make_model
from marius_lite.tasks.resolved import resolved


def model_of(dataset, *sets):
    opened = Dataset.open(dataset)
    return make_model(opened, resolved(opened, load(sets=[*LINKS, *sets]))[0])


def test_relations_follow_from_the_seed(tiny_dataset):
    first, again, other = (model_of(tiny_dataset, f"training.seed={seed}").relations for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("reciprocal", [True, False])
@pytest.mark.parametrize(("decoder", "width"), [("complex", 8), ("rotate", 4), ("dot", 0)])
def test_each_relation_has_a_row_and_its_inverse_where_asked(tiny_dataset, decoder, width, reciprocal):
    relations = model_of(tiny_dataset, f"model.decoder={decoder}", f"model.reciprocal={str(reciprocal).lower()}").relations
    assert relations.numel() == width * 3 * (2 if reciprocal else 1)


def test_relations_are_drawn_as_asked(tiny_dataset):
    relations = model_of(tiny_dataset, "init.relations.kind=uniform", "init.relations.scale=0.125").relations
    assert 0.06 < relations.abs().max() <= 0.125


def test_an_encoder_is_a_part_where_one_is_named(featured):
    assert model_of(featured).encoder is None
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    encoder = model_of(featured, *ENCODER).encoder
    assert {name for name, _ in model_of(featured, *ENCODER).named_parameters()} == {
        "relations",
        *(f"encoder.{name}" for name, _ in encoder.named_parameters()),
    }
