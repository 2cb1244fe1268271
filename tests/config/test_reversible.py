"""Reversible couplings are refused where they cannot hold, each time with what is allowed; widths may be written short."""

import pytest

from marius_lite.config.load import load
from marius_lite.errors import UserError

MODEL = {"encoder": "gcn", "layers": {"width": 64, "count": 5}, "reversible": 2, "norm": "layer"}


def loaded(model=(), **sections):
    values = {"task": "node_classification", "training": {"method": "cluster"}, "model": {**MODEL, **dict(model)}, **sections}
    return load(values=values)


def test_widths_are_repeated():
    assert loaded().model.layers == (64,) * 5
    assert loaded({"layers": [64, 64]}).model.layers == (64, 64)


@pytest.mark.parametrize("layers", [{"width": 64}, {"width": 64, "count": 0}, {"width": 64, "count": 10_001}, {"wide": 3}])
def test_what_does_not_repeat_widths_is_refused(layers):
    with pytest.raises(UserError, match=r"model.layers"):
        loaded({"layers": layers})


@pytest.mark.parametrize(("groups", "widths", "hops"), [(2, 2, 4), (2, 63, 126), (4, 5, 18)])
def test_each_step_is_a_hop(groups, widths, hops):
    assert loaded({"reversible": groups, "layers": [64] * widths}).convolutions == hops
    assert loaded({"reversible": 0, "layers": [64] * widths}).convolutions == widths + 1


@pytest.mark.parametrize(
    ("model", "sections", "message"),
    [
        ({"reversible": 1}, {}, "`model.reversible` is 1: a group is made from the others"),
        ({"encoder": "torch_geometric.nn:GIN"}, {}, "`model.encoder` is torch_geometric.nn:GIN: choose sage, gcn, gat or rgcn"),
        ({}, {"training": {"method": "sampled"}}, "`training.method` is sampled: layers are reversible only where"),
        ({}, {"training": {"method": "layerwise"}}, "`training.method` is layerwise"),
        ({"layers": [64, 32]}, {}, r"`model.layers` is \[64, 32\]: layers are reversible only where their widths are equal"),
        ({"layers": [64]}, {}, "give two or more"),
        ({"reversible": 3}, {}, "`model.layers` has 64: the groups must divide it"),
        ({"encoder": "gat", "heads": 3, "layers": [32, 32]}, {}, "heads must divide the width"),
        ({"norm": "batch"}, {}, "use layer"),
        ({"residual": True}, {}, "set it to false"),
        ({}, {"optimizer": {"dense": {"weight_decay": [0.1] * 6}}}, "give one number for all"),
        ({}, {"device": "cuda"}, "couplings are trained on the CPU so far"),
    ],
)
def test_what_cannot_be_reversible_is_refused(model, sections, message):
    with pytest.raises(UserError, match=message):
        loaded(model, **sections)
