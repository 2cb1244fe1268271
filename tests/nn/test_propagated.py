"""SGC and SIGN: hop after hop over all nodes, then scores, is what the powers of the normalised matrix give."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import Graph

from marius_lite.nn.encoders import EncoderShape, make_encoder
from marius_lite.nn.encoders.propagated import PropagatedRows, Propagation

pytest.importorskip("torch_geometric")

IN, CLASSES = 5, 3


def powers(graph, x, hops, norm):
    """X, AX ... A^hops X, float64, by torch's sparse products."""
    if norm == "mean":
        ends = torch.from_numpy(graph.edges[::-1].copy())
        scale = 1 / torch.from_numpy(np.diff(graph.indptr)).double().clamp(min=1)
        return _powers(ends, scale[ends[0]], x, hops)
    others = graph.edges[:, graph.edges[0] != graph.edges[1]]
    loops = np.arange(graph.nodes)
    ends = torch.from_numpy(np.concatenate([others[::-1], [loops, loops]], 1))
    scale = (graph.degrees.double() + 1).rsqrt()
    return _powers(ends, scale[ends[0]] * scale[ends[1]], x, hops)


def _powers(ends, values, x, hops):
    matrix = torch.sparse_coo_tensor(ends, values, (len(x),) * 2, check_invariants=True)
    found = [x.double()]
    for _ in range(hops):
        found.append(matrix @ found[-1])
    return found


@pytest.mark.parametrize("name", ["sgc", "sign"])
@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 30),
    st.integers(0, 150),
    st.integers(0, 5),
    st.sampled_from([[], [8], [8, 6]]),
    st.sampled_from(["none", "layer", "batch"]),
    st.sampled_from(["symmetric", "mean"]),
)
@torch.no_grad()
def test_hop_after_hop_is_a_power_of_the_matrix(name, seed, nodes, edges, hops, widths, norm, by):
    graph = Graph.random(np.random.default_rng(seed), nodes, edges, 1)
    block = graph.sample(list(range(nodes)), [-1])[1].block(0)
    torch.manual_seed(seed)
    model = make_encoder(name, EncoderShape(IN, [*widths, CLASSES], 0.5, norm, gcn_norm=by, hops=hops)).eval()
    x = torch.randn(nodes, IN)
    expected = powers(graph, x, hops, by)
    propagation, rows, scores = Propagation(model).eval(), x, x
    for layer in range(max(hops, 1)):
        rows, scores = propagation.layer(layer, rows, block), model.layer(layer, scores, block)
        after = min(layer + 1, hops)
        wanted = torch.cat(expected[after::-1], 1) if name == "sign" else expected[after]
        assert rows.shape == (nodes, propagation.widths[layer]) == tuple(wanted.shape)
        assert float((rows - wanted).abs().max()) < 1e-5
        assert scores.shape == (nodes, model.widths[layer])
    alone = PropagatedRows(model).eval()
    assert alone.in_width == rows.shape[1]
    assert torch.allclose(alone.scores(rows), scores, atol=1e-5)
    assert dict(alone.named_parameters()).keys() == dict(model.named_parameters()).keys()


def test_sgc_without_widths_is_one_linear_map_and_sign_has_one_for_each_hop():
    sgc, sign = (make_encoder(name, EncoderShape(IN, [CLASSES], hops=2)) for name in ("sgc", "sign"))
    assert [tuple(each.shape) for each in sgc.parameters()] == [(CLASSES, IN), (CLASSES,)]
    assert [tuple(each.shape) for each in sign.parameters()] == 3 * [(CLASSES, IN), (CLASSES,)]


def test_dropout_is_for_training():
    layer = PropagatedRows(make_encoder("sign", EncoderShape(IN, [8, CLASSES], dropout=0.5, hops=2)))
    rows = torch.randn(50, layer.in_width)
    assert not torch.equal(layer.train().scores(rows), layer.scores(rows))
    assert torch.equal(layer.eval().scores(rows), layer.scores(rows))
