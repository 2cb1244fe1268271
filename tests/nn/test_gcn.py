"""GCN as Cluster-GCN normalises it, against dense products in float64 on the subgraph."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import Graph

from marius_lite.nn.encoders import EncoderShape, make_encoder

pytest.importorskip("torch_geometric.nn")

IN, HIDDEN, OUT = 10, 8, 6


def dense(graph, norm, diagonal):
    """A~ + lambda diag(A~), of A + I without self-loops of A: rows are targets."""
    with_self = np.eye(graph.nodes)
    factors = 1.0 if graph.factors is None else graph.factors.astype(float)
    np.add.at(with_self, (graph.edges[1], graph.edges[0]), (graph.edges[0] != graph.edges[1]) * factors)
    degrees = with_self.sum(1)
    by = 1 / degrees[:, None] if norm == "row" else 1 / np.sqrt(np.outer(degrees, degrees))
    scaled = with_self * by
    return torch.from_numpy(scaled + diagonal * np.diag(np.diag(scaled)))


def require_same_gradients(out, expected, sampled, whole, tolerance):
    """Send the same gradient back from both. ``sampled``: rows, and the nodes they are of; ``whole``: those of all, float64."""
    upstream, (parts, ids) = torch.randn_like(out), sampled
    out.backward(upstream)
    expected.backward(upstream.double())
    gradient = torch.zeros(whole.shape).index_add(0, torch.as_tensor(ids), parts.grad)
    torch.testing.assert_close(gradient.double(), whole.grad, rtol=tolerance, atol=tolerance)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 25),
    st.integers(0, 120),
    st.sampled_from(["symmetric", "row"]),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.sampled_from([(IN, HIDDEN), (HIDDEN, IN)]),  # whichever is mapped first
    st.booleans(),
)
def test_layers_are_dense_products(seed, nodes, edges, norm, diagonal, widths, weighs):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    graph, inner = Graph.random(rng, nodes, edges, weighs=weighs), widths[0]
    ours = make_encoder("gcn", EncoderShape(inner, [widths[1], OUT], gcn_norm=norm, diagonal=diagonal)).eval()
    for value in ours.parameters():
        value.data.normal_(0, 0.5)
    x = torch.randn(nodes, inner)
    ids, sampled = graph.sample(rng.permutation(nodes)[: rng.integers(1, nodes + 1)].tolist(), [-1, -1])
    parts = x[ids].requires_grad_()
    out = ours(parts, sampled)

    whole, wide = x.double().requires_grad_(), dense(graph, norm, diagonal)
    first, second = ((conv.lin.weight.double(), conv.bias.double()) for conv in ours.convs)
    hidden = (wide @ whole @ first[0].T + first[1]).relu()
    expected = (wide @ hidden @ second[0].T + second[1])[ids[: len(out)]]
    torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=1e-4)

    require_same_gradients(out, expected, (parts, ids), whole, 1e-4)


def test_rows_ask_for_no_degrees():
    kinds = {norm: make_encoder("gcn", EncoderShape(4, [3], gcn_norm=norm)) for norm in ("symmetric", "row")}
    assert {norm: kind.asks_for_degrees for norm, kind in kinds.items()} == {"symmetric": True, "row": False}


def weighed(rng, nodes, edges):
    graph = Graph.random(rng, nodes, edges, loops=False, weighs=True)
    x = torch.from_numpy(rng.normal(size=(nodes, IN)).astype(np.float32))
    return graph, x, torch.from_numpy(graph.factors)


@pytest.mark.parametrize("widths", [(IN, HIDDEN), (HIDDEN, IN)])
def test_edges_that_weigh_are_those_of_torch_geometric(widths):
    """GCNConv with edge weights, in float64, with gradients."""
    from torch_geometric.nn import GCNConv

    rng = np.random.default_rng(5)
    graph, _, factors = weighed(rng, 60, 500)
    x = torch.randn(60, widths[0])
    ours = make_encoder("gcn", EncoderShape(widths[0], [widths[1]])).eval()
    theirs = GCNConv(*widths).double()
    theirs.load_state_dict({name: value.double() for name, value in ours.convs[0].state_dict().items()})
    ids, sampled = graph.sample(rng.permutation(60)[:40].tolist(), [-1])
    parts, whole = x[ids].requires_grad_(), x.double().requires_grad_()
    out, expected = ours(parts, sampled), theirs(whole, graph.edge_index, factors.double())[ids[:40]]
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-5)
    require_same_gradients(out, expected, (parts, ids), whole, 1e-5)
    for one, other in zip(ours.convs[0].parameters(), theirs.parameters()):
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-4, atol=1e-4)


def test_few_of_many_neighbours_that_weigh_stand_for_all():
    """The sum of what is drawn is scaled to what all of them weigh: where all have the same row, nothing is lost."""
    graph, _, _ = weighed(np.random.default_rng(6), 50, 900)
    ours = make_encoder("gcn", EncoderShape(IN, [OUT])).eval()
    scaled = (graph.degrees + 1).sqrt().unsqueeze(1).expand(-1, IN).contiguous()  # what the root of the source's degree undoes
    results = []
    for fanout in (-1, 3):
        ids, sampled = graph.sample(list(range(50)), [fanout], np.random.default_rng(7))
        results.append(ours(scaled[ids], sampled))
    some = graph.degrees > 0
    drawn = torch.from_numpy(np.add.reduceat(np.r_[sampled.factors.numpy(), 0], sampled.indptr[:-1].numpy())) > 0
    torch.testing.assert_close(results[1][some & drawn], results[0][some & drawn], rtol=1e-4, atol=1e-4)
