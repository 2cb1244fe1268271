"""What a layer gathers, then maps, is what the layer gives; and the layers up to one give what that one does with its head."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import Graph

from marius_lite.nn.encoders import EncoderShape, make_encoder
from marius_lite.nn.encoders.one_layer import FirstLayers, Gathering, RowLayer

pytest.importorskip("torch_geometric")

IN, WIDTHS, CLASSES = 5, [7, 6, 3], 3


def set_up(name, seed, nodes, edges, norm):
    import numpy as np

    graph = Graph.random(np.random.default_rng(seed), nodes, edges, 1)
    block = graph.sample(list(range(nodes)), [-1])[1].block(0)
    torch.manual_seed(seed)
    encoder = make_encoder(name, EncoderShape(IN, WIDTHS, dropout=0.5, norm=norm)).eval()
    return encoder, block, torch.randn(nodes, IN)


@pytest.mark.parametrize("name", ["gcn", "sage"])
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(0, 200), st.sampled_from(["none", "layer", "batch"]))
@torch.no_grad()
def test_a_layer_is_what_is_gathered_and_mapped(name, seed, nodes, edges, norm):
    encoder, block, rows = set_up(name, seed, nodes, edges, norm)
    whole = rows
    for place in range(len(WIDTHS)):
        gathering, layer = Gathering(encoder, place).eval(), RowLayer(encoder, place, CLASSES).eval()
        gathered = gathering.layer(0, rows, block)
        assert gathered.shape == (nodes, *gathering.widths)
        assert layer.in_width == gathering.widths[0]
        rows, first = layer.results(gathered), FirstLayers(layer).eval()
        assert torch.allclose(rows, encoder.layer(place, whole, block), atol=1e-5)
        assert torch.allclose(layer.scores(gathered), first.layer(place, whole, block), atol=1e-5)
        assert first.widths == (*WIDTHS[:place], CLASSES)
        whole = rows


@pytest.mark.parametrize("place", range(3))
def test_only_the_layer_and_its_head_are_trained(place):
    encoder = make_encoder("sage", EncoderShape(IN, WIDTHS, norm="layer"))
    names = {name for name, _ in encoder.named_parameters()}
    layer = RowLayer(encoder, place, CLASSES)
    of_head = set() if place == 2 else {"head.weight", "head.bias"}
    assert {name for name, _ in layer.named_parameters()} == names | of_head
    layer.train().scores(torch.randn(4, layer.in_width)).sum().backward()
    trained = {name for name, parameter in layer.named_parameters() if parameter.grad is not None}
    own = {name for name in names if name.startswith((f"convs.{place}.", f"norms.{place}."))}
    assert trained == own | of_head


def test_dropout_is_for_training():
    layer = RowLayer(make_encoder("gcn", EncoderShape(IN, WIDTHS, dropout=0.5)), 0, CLASSES)
    rows = torch.randn(50, IN)
    assert not torch.equal(layer.train().scores(rows), layer.scores(rows))
    assert torch.equal(layer.eval().scores(rows), layer.scores(rows))
