"""Parts of a run: the same for the same seed, and those that its task has."""

import pytest
import torch
from open_parts import CLASSES, ENCODER, LINKS, open_parts

from marius_lite.graph.dataset import Dataset


def weights(dataset, *sets):
    with open_parts(dataset, *sets) as parts:
        return {name: tensor.clone() for name, tensor in parts.model.state_dict().items()}


def alike(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_first_weights_follow_from_the_seed(tiny_dataset):
    first = weights(tiny_dataset, *LINKS)
    assert alike(first, weights(tiny_dataset, *LINKS))
    assert not alike(first, weights(tiny_dataset, *LINKS, "training.seed=1"))


def test_a_link_models_regularizer_can_be_weakened(tiny_dataset):
    with open_parts(tiny_dataset, *LINKS) as parts:
        assert parts.regularized is parts.model
        assert len(parts.rates) == 2, "rows and dense weights have a learning rate each"
        assert parts.work.items == Dataset.open(tiny_dataset).manifest.edges["train"]


def test_a_classifier_has_no_regularizer(communities):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    with open_parts(communities, *CLASSES) as parts:
        assert parts.regularized is None
        assert parts.work.items == 120


def test_each_layer_decays_as_it_is_told(featured):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    sets = [*LINKS, *ENCODER, "model.layers=[8]", "sampling.fanouts=[4,4]", "optimizer.dense.weight_decay=[0.25,0]"]
    with open_parts(featured, *sets) as parts:
        before = {name: weight.detach().clone() for name, weight in parts.model.named_parameters()}
        for weight in parts.model.parameters():
            weight.grad = torch.zeros_like(weight)
        parts.optimizer.step()
        changed = {name for name, weight in parts.model.named_parameters() if not torch.equal(weight, before[name])}
        assert changed == {name for name in before if name.startswith("encoder.convs.0.") and before[name].any()}
