"""Samples with sizes that recur: few sizes, bounded ones, the same vectors and gradients, nothing taken from what was added."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite._native import padded_sample
from marius_lite.config.encoder_memory import padded_sizes
from marius_lite.nn.encoders import EncoderShape, LayerGraph, make_encoder
from marius_lite.sampling.neighbours import NeighbourSample
from marius_lite.sampling.padding import padded, recurring

HOPS = st.lists(st.integers(0, 60), min_size=1, max_size=4)


def sample_of(seed, hops, most, relations=False):
    """A sample of one seed and more, whose nodes draw up to ``most`` edges each from what the next hop reaches."""
    rng = np.random.default_rng(seed)
    hop_nodes = [1 + hops[0], *hops[1:], int(rng.integers(0, 50))]
    ends = np.cumsum(hop_nodes)
    drawn, hop_edges, indices = [], [], []
    for hop, count in enumerate(hop_nodes[:-1]):
        own = rng.integers(0, most + 1, count)
        drawn.append(own)
        hop_edges.append(int(own.sum()))
        indices.append(rng.integers(0, ends[hop + 1], own.sum()))
    indices = np.concatenate(indices).astype(np.int32)
    return NeighbourSample(
        rng.permutation(1000)[: ends[-1]].astype(np.int64),
        rng.permutation(2000)[: ends[-1]].astype(np.int64),
        np.array(hop_nodes, np.int32),
        np.concatenate([[0], np.cumsum(np.concatenate(drawn))]).astype(np.int64),
        indices,
        rng.integers(0, 5, len(indices)).astype(np.uint32) if relations else None,
        np.array(hop_edges, np.int32),
        17,
        3,
    )


def graph_of(sample, degrees):
    return LayerGraph(
        tuple(sample.hop_nodes.tolist()),
        torch.from_numpy(sample.indptr),
        torch.from_numpy(sample.indices),
        None,
        torch.from_numpy(degrees[sample.nodes]),
        tuple(sample.hop_edges.tolist()),
    )


@given(st.integers(0, 1 << 22))
def test_sizes_recur(count):
    size = recurring(count)
    assert size % 16 == 0
    assert count <= size <= max(count + count // 8 + 1, -(-count // 16) * 16)
    assert recurring(size) == size
    assert len({recurring(each) for each in range(count, 2 * count, max(1, count // 100))}) <= 10 + 2 * (count < 256)


@settings(deadline=None)
@given(st.integers(0, 2**30), HOPS, st.integers(0, 40), st.booleans())
def test_what_is_added_stands_behind_each_hop(seed, hops, most, relations):
    sample = sample_of(seed, hops, most, relations)
    found = padded(sample)
    assert [recurring(size) for size in found.hop_nodes.tolist()] == found.hop_nodes.tolist()
    assert [recurring(size) for size in found.hop_edges.tolist()] == found.hop_edges.tolist()
    assert (found.neighbours, found.missing) == (17, 3)
    nodes, edges = padded_sizes(np.cumsum(sample.hop_nodes).tolist(), sample.hop_edges.tolist())
    assert (np.cumsum(found.hop_nodes) <= nodes).all()
    assert (found.hop_edges <= edges).all()
    # Where each node went, and the edges of those that were there.
    before, after = (np.concatenate([[0], np.cumsum(each.hop_nodes)]) for each in (sample, found))
    place = np.concatenate([after[h] + np.arange(count) for h, count in enumerate(sample.hop_nodes)]).astype(int)
    np.testing.assert_array_equal(found.nodes[place], sample.nodes)
    np.testing.assert_array_equal(found.rows[place], sample.rows)
    added = np.ones(len(found.nodes), bool)
    added[place] = False
    assert (found.nodes[added] == sample.nodes[0]).all()
    assert (found.rows[added] == sample.rows[0]).all()
    assert len(found.indptr) == after[-2] + 1
    assert found.indptr[-1] == len(found.indices) == found.hop_edges.sum()
    for node in range(before[-2]):
        there = slice(*found.indptr[place[node] : place[node] + 2])
        own = slice(*sample.indptr[node : node + 2])
        np.testing.assert_array_equal(found.indices[there], place[sample.indices[own]])
        if relations:
            np.testing.assert_array_equal(found.rel[there], sample.rel[own])
    for node in np.flatnonzero(added[: after[-2]]):
        assert (found.indices[found.indptr[node] : found.indptr[node + 1]] == node).all()


@pytest.mark.parametrize("name", ["sage", "gcn"])
@pytest.mark.parametrize("residual", [False, True])
def test_vectors_and_gradients_are_those_without(name, residual):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    torch.manual_seed(0)
    sample = sample_of(3, [40, 50], 6)
    table, degrees = torch.randn(1000, 12), np.random.default_rng(0).integers(1, 9, 1000).astype(np.float32)
    encoder = make_encoder(name, EncoderShape(12, [8, 5], norm="layer", residual=residual))
    results = []
    for each in (sample, padded(sample)):
        x = table[each.nodes].requires_grad_()
        out = encoder(x, graph_of(each, degrees))[: sample.hop_nodes[0]]
        grads = torch.autograd.grad((out * torch.arange(5)).sum(), [x, *encoder.parameters()])
        rows = torch.zeros(1000, 12).index_add_(0, torch.from_numpy(each.nodes), grads[0])
        results.append([out.detach(), rows, *grads[1:]])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("nodes", "edges", "said"),
    [
        ([-1, 0], [0], "below 0"),
        ([0, 0], [4], "no nodes that could"),
        ([0], [0], "a number of nodes"),
        ([2**31, 0], [0], "2147483647"),
    ],
)
def test_impossible_sizes_are_refused(nodes, edges, said):
    sample = sample_of(1, [3], 2)
    arrays = [sample.nodes, sample.rows, sample.hop_nodes, sample.indptr, sample.indices, sample.hop_edges, sample.rel]
    with pytest.raises(ValueError, match=said):
        padded_sample(*arrays, np.array(nodes, np.int64), np.array(edges, np.int64))
