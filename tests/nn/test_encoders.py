"""Encoders against torch_geometric's own models on the whole graph."""

import copy
import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import Graph

import marius_lite.nn.aggregate as aggregate
import marius_lite.nn.encoders.gat as gat
import marius_lite.nn.encoders.gcn as gcn
import marius_lite.nn.encoders.sage as sage
from marius_lite.errors import UserError
from marius_lite.nn.encoders import ENCODERS, EncoderShape, make_encoder
from marius_lite.nn.products import bfloat16_usable, products_in

pyg = pytest.importorskip("torch_geometric.nn")

IN, HIDDEN, OUT, RELATIONS, HEADS = 10, 8, 6, 3, 2
WIDTHS = {1: [OUT], 2: [HIDDEN, OUT], 3: [HIDDEN, HIDDEN, OUT]}


class RgcnModel(torch.nn.Module):
    """RGCN's layers by torch_geometric, which has no model of them."""

    def __init__(self, layers, norm):
        super().__init__()
        widths = [IN, *WIDTHS[layers]]
        self.convs = torch.nn.ModuleList(pyg.RGCNConv(a, b, RELATIONS) for a, b in itertools.pairwise(widths))
        self.norms = torch.nn.ModuleList(norm(HIDDEN) if norm else torch.nn.Identity() for _ in widths[2:])

    def forward(self, x, edge_index, edge_type):
        for conv, norm in zip(self.convs, self.norms):
            x = norm(conv(x, edge_index, edge_type)).relu()
        return self.convs[-1](x, edge_index, edge_type)


def whole_graph_model(name, layers, norm):
    kind = {"none": None, "layer": lambda width: pyg.LayerNorm(width, mode="node"), "batch": pyg.BatchNorm}[norm]
    if name == "rgcn":
        return RgcnModel(layers, kind)
    model, options = {"sage": (pyg.GraphSAGE, {}), "gcn": (pyg.GCN, {}), "gat": (pyg.GAT, {"v2": True, "heads": HEADS})}[name]
    return model(IN, HIDDEN, layers, OUT, norm=kind(HIDDEN) if kind else None, **options)


def encoder(name, layers, **options):
    return make_encoder(name, EncoderShape(IN, WIDTHS[layers], heads=HEADS, relations=RELATIONS, **options))


def drawn(seed, nodes, edges):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    graph = Graph.random(rng, nodes, edges, RELATIONS)
    return rng, graph, torch.randn(nodes, IN)


@pytest.mark.parametrize("name", ENCODERS)
@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 25),
    st.integers(0, 120),
    st.integers(1, 3),
    st.sampled_from(["none", "layer", "batch"]),
    st.sampled_from([torch.int32, torch.int64]),
)
def test_full_neighbours_equal_the_whole_graph(name, seed, nodes, edges, layers, norm, dtype):
    rng, graph, x = drawn(seed, nodes, edges)
    ours = encoder(name, layers, norm=norm).eval()
    for value in [*ours.parameters(), *(b for key, b in ours.named_buffers() if key.endswith("running_mean"))]:
        value.data.normal_(0, 0.5)
    theirs = whole_graph_model(name, layers, norm).eval()
    theirs.load_state_dict(ours.state_dict())  # the same names and shapes
    seeds = rng.permutation(nodes)[: rng.integers(1, nodes + 1)].tolist()
    ids, sampled = graph.sample(seeds, [-1] * layers, dtype=dtype)

    parts = x[ids].requires_grad_()
    out = ours(parts, sampled)
    whole = x.clone().requires_grad_()
    expected = theirs(whole, graph.edge_index, *([graph.edge_type] if name == "rgcn" else []))[seeds]
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)

    upstream = torch.randn_like(out)
    out.backward(upstream)
    expected.backward(upstream)
    dense = torch.zeros_like(x).index_add(0, ids, parts.grad)
    torch.testing.assert_close(dense, whole.grad, rtol=1e-4, atol=1e-4)
    for (key, mine), other in zip(ours.named_parameters(), theirs.parameters()):
        grads = (torch.zeros_like(value) if value.grad is None else value.grad for value in (mine, other))
        torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-4, msg=lambda text, key=key: f"{key}: {text}")


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_layer_reads_its_sources_alone(name, layer):
    """Rows, edges and degrees past a layer's prefix may hold anything."""
    rng, graph, _ = drawn(5, 60, 200)
    ours = encoder(name, 3).eval()
    ids, sampled = graph.sample(rng.permutation(60)[:4].tolist(), [3, 2, 2], rng)
    block = sampled.block(layer)
    sources, targets = sampled.nodes(3 - layer), sampled.nodes(2 - layer)
    assert targets < sources
    assert block.targets == targets
    assert int(block.indices.max()) < sources <= len(ids)
    out = ours.layer(layer, torch.randn(sources, IN if layer == 0 else HIDDEN), block)
    assert out.shape == (targets, WIDTHS[3][layer])


@pytest.mark.parametrize("name", ENCODERS)
def test_shallower_than_sampled_rows_are_never_read(name):
    """NaN in every row that no path of the right length reaches stays without effect."""
    rng, graph, x = drawn(6, 60, 200)
    ours = encoder(name, 2).eval()
    ids, sampled = graph.sample(rng.permutation(60)[:4].tolist(), [3, 2], rng)
    expected = ours(x[ids], sampled)
    longer = torch.cat([x[ids], torch.full((7, IN), torch.nan)])
    torch.testing.assert_close(ours(longer, sampled), expected, rtol=0, atol=0)
    with pytest.raises(ValueError, match="2 hops"):
        encoder(name, 3)(x[ids], sampled)


def test_edges_of_a_layer_without_being_told():
    rng, graph, _ = drawn(7, 60, 200)
    _, sampled = graph.sample([1, 2, 3], [3, 2], rng)
    untold = type(sampled)(sampled.hop_nodes, sampled.indptr, sampled.indices)
    for layer in range(2):
        assert torch.equal(untold.block(layer).indices, sampled.block(layer).indices)


@pytest.mark.parametrize("name", ENCODERS)
def test_numbers_of_neighbours_stand_beside_the_input(name):
    """What an encoder of a wider input gives, whose last number says how many neighbours a node has in the whole graph."""
    _, graph, x = drawn(3, 20, 80)
    sees = encoder(name, 2, degree_unit=2.5, residual=True).eval()
    wider = make_encoder(
        name, EncoderShape(IN + 1, WIDTHS[2], heads=HEADS, relations=RELATIONS, residual=True, gcn_norm="symmetric")
    ).eval()
    wider.load_state_dict(sees.state_dict())
    ids, sampled = graph.sample([4, 0, 7], [2, 2], np.random.default_rng(0))
    beside = ((1 + graph.degrees[ids, None]) / 3.5).log()
    torch.testing.assert_close(sees(x[ids], sampled), wider(torch.cat([x[ids], beside], 1), sampled))
    assert sees.asks_for_degrees
    assert (sees.in_width, wider.in_width) == (IN, IN + 1)


@pytest.mark.parametrize("name", ENCODERS)
def test_numbers_of_neighbours_at_either_end_are_two(name):
    """Each stands beside the input. What is summed by numbers of neighbours is by all of them."""
    _, graph, x = drawn(3, 20, 80)
    sees = encoder(name, 2, degree_unit=2.5, degrees_apart=True).eval()
    wider = make_encoder(name, EncoderShape(IN + 2, WIDTHS[2], heads=HEADS, relations=RELATIONS, gcn_norm="symmetric")).eval()
    wider.load_state_dict(sees.state_dict())
    ids, sampled = graph.sample([4, 0, 7], [2, 2], np.random.default_rng(0))
    coming = (graph.degrees[ids] / 3).floor()
    ends = torch.stack([coming, graph.degrees[ids] - coming], 1)
    beside = ((1 + ends) / 3.5).log()
    torch.testing.assert_close(sees(x[ids], replace(sampled, degrees=ends)), wider(torch.cat([x[ids], beside], 1), sampled))


def test_gcn_uses_true_degrees():
    """Half of the neighbours, all alike, give what all of them give."""
    nodes = 9
    edges = np.array([[1, 2, 3, 4, 5, 6, 7, 8], [0] * 8])
    graph = Graph(nodes, edges, np.zeros(8, np.int64))
    ours = encoder("gcn", 1).eval()
    x = torch.randn(nodes, IN)
    x[1:] = x[1]
    ids, whole = graph.sample([0], [-1])
    some, half = graph.sample([0], [4], np.random.default_rng(0))
    torch.testing.assert_close(ours(x[some], half), ours(x[ids], whole), rtol=1e-5, atol=1e-5)


def test_gcn_sums_are_right_on_average():
    rng, graph, x = drawn(8, 30, 400)
    ours = encoder("gcn", 1).eval()
    seeds = list(range(5))
    ids, whole = graph.sample(seeds, [-1])
    total = torch.zeros(5, OUT)
    for _ in range(3000):
        some, sampled = graph.sample(seeds, [5], rng)
        total += ours(x[some], sampled).detach()
    torch.testing.assert_close(total / 3000, ours(x[ids], whole).detach(), rtol=0.1, atol=0.05)


@pytest.mark.parametrize("name", ["sage", "gcn"])
@pytest.mark.parametrize("needs_grad", [True, False])
def test_both_orders_are_equal(name, needs_grad, monkeypatch):
    rng, graph, x = drawn(9, 60, 300)
    ours = encoder(name, 2)
    ids, sampled = graph.sample([0, 1, 2], [4, 4], rng)
    results = []
    for first in (True, False):
        monkeypatch.setattr(sage, "transform_first", lambda *_, first=first: first)
        monkeypatch.setattr(gcn, "transform_first", lambda *_, first=first: first)
        ours.zero_grad()
        rows = x[ids].requires_grad_(needs_grad)
        out = ours(rows, sampled)
        out.square().sum().backward()
        results.append([out.detach(), *(p.grad for p in ours.parameters()), *([rows.grad] if needs_grad else [])])
    for mine, other in zip(*results, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ENCODERS)
def test_without_the_native_kernel(name, monkeypatch):
    rng, graph, x = drawn(10, 60, 300)
    ours = encoder(name, 2).eval()
    ids, sampled = graph.sample([0, 1, 2], [4, 4], rng, dtype=torch.int64)
    results = []
    for usable in (True, False):
        if not usable:
            for module in (aggregate, gat):
                monkeypatch.setattr(module, "native_usable", lambda x: False)
        rows = x[ids].requires_grad_()
        out = ours(rows, sampled)
        found = torch.autograd.grad(out.square().sum(), [rows, *ours.parameters()])
        results.append([out.detach(), *found])
    for mine, other in zip(*results, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ENCODERS)
def test_residual_norm_and_dropout(name):
    """By hand around one convolution: input added, normalised, cut at 0, dropped while training alone."""
    rng, graph, x = drawn(11, 60, 300)
    ours = encoder(name, 2, residual=True, norm="layer", dropout=0.5)
    ids, sampled = graph.sample(list(range(30)), [-1, -1], rng)
    block = sampled.block(0)
    ours.eval()
    plain = ours._convolve(ours.convs[0], x[ids], block) + ours.residuals[0](x[ids][: block.targets])
    expected = torch.nn.functional.layer_norm(plain, [HIDDEN]).relu()
    torch.testing.assert_close(ours.layer(0, x[ids], block), expected, rtol=1e-4, atol=1e-4)
    ours.train()
    dropped = ours.layer(0, x[ids], block)
    share = float((dropped[expected > 0.1] == 0).float().mean())
    assert 0.3 < share < 0.7


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("options", [{}, {"norm": "layer", "residual": True}, {"norm": "batch"}])
@pytest.mark.parametrize(("precision", "layers", "near"), [("float32", 3, 1e-5), ("mixed", 1, 2e-2)])
def test_gradients_are_those_of_float64(name, options, precision, layers, near):
    """Relative to the length of each gradient. Between rounded layers, what rounding moves past 0 gets another gradient."""
    if (name, precision) == ("gat", "mixed"):
        pytest.skip("its scores have such a bend: test_attention.py")
    rng, graph, x = drawn(12, 300, 2000)
    ours = encoder(name, layers, **options)
    exact = copy.deepcopy(ours).double()
    ids, sampled = graph.sample(list(range(60)), [4] * layers, rng)
    rows = [x[ids].requires_grad_(), x[ids].double().requires_grad_()]
    with products_in(precision):
        out = ours(rows[0], sampled)
        upstream = torch.randn_like(out)
        out.backward(upstream)
    expected = exact(rows[1], sampled)
    expected.backward(upstream.double())
    assert out.dtype == torch.float32
    pairs = [(out.detach(), expected.detach()), (rows[0].grad, rows[1].grad)]
    pairs += [(mine.grad, theirs.grad) for mine, theirs in zip(ours.parameters(), exact.parameters()) if theirs.grad is not None]
    largest = max(float(theirs.norm()) for _, theirs in pairs)
    for mine, theirs in pairs:
        assert float((mine - theirs).norm()) < near * max(float(theirs.norm()), 0.1 * largest)


@pytest.mark.skipif(not bfloat16_usable(), reason="this processor does not multiply bfloat16")
@pytest.mark.parametrize("name", ENCODERS)
def test_rows_between_layers_are_rounded_in_mixed_precision(name):
    rng, graph, x = drawn(13, 60, 300)
    ours = encoder(name, 2)
    ids, sampled = graph.sample([0, 1, 2], [4, 4], rng)
    with products_in("mixed"):
        assert ours.layer(0, x[ids], sampled.block(0)).dtype == torch.bfloat16
    assert ours.layer(0, x[ids], sampled.block(0)).dtype == torch.float32


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("sagee", {}, "model.encoder: found 'sagee', allowed are sage, gcn, gat, rgcn, sgc, sign or package.module:Class"),
        ("sage", {"norm": "group"}, "model.norm: found 'group', allowed are none, layer, batch"),
        ("gat", {"heads": 3}, r"model.heads: found 3 for layers \[8, 6\]"),
        ("gat", {"heads": 0}, "model.heads: found 0"),
        ("sage", {"widths": []}, "model.layers: "),
    ],
)
def test_what_is_not_allowed_is_refused(name, options, text):
    with pytest.raises(UserError, match=text):
        make_encoder(name, EncoderShape(**{"in_width": IN, "widths": WIDTHS[2], **options}))
