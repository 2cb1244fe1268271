"""Edges are left out alone, by chance, and all that a graph says of its edges goes with them."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.nn.edge_dropout import without_edges
from marius_lite.nn.encoders import LayerGraph


def graph(rng, hops, relations):
    """Nodes with 0 to 5 edges each; those of the last hop have none."""
    hop_nodes = [int(rng.integers(1, 30)) for _ in range(hops + 1)]
    degrees = rng.integers(0, 6, sum(hop_nodes[:-1]))
    indptr = np.concatenate([[0], degrees.cumsum()])
    indices = rng.integers(0, sum(hop_nodes), indptr[-1]).astype(np.int32)
    ends = indptr[np.cumsum([0, *hop_nodes[:-1]])]
    rel = torch.from_numpy(rng.integers(0, 9, indptr[-1])) if relations else None
    return LayerGraph(
        tuple(hop_nodes), torch.from_numpy(indptr), torch.from_numpy(indices), rel, None, tuple(np.diff(ends).tolist())
    )


def edges(of):
    targets = np.repeat(np.arange(len(of.indptr) - 1), np.diff(of.indptr.numpy()))
    columns = [targets, of.indices.numpy()] + ([] if of.rel is None else [of.rel.numpy()])
    return list(zip(*(column.tolist() for column in columns)))


@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans(), st.floats(0, 0.99))
@settings(deadline=None, max_examples=60)
def test_what_stays_is_a_part_in_the_same_order(seed, hops, relations, share):
    whole = graph(np.random.default_rng(seed), hops, relations)
    torch.manual_seed(seed)
    part = without_edges(whole, share)
    left = iter(edges(whole))
    assert all(edge in left for edge in edges(part))  # a subsequence
    assert part.hop_nodes == whole.hop_nodes
    assert len(part.indptr) == len(whole.indptr)
    assert part.hop_edges == tuple(np.diff(part.indptr.numpy()[np.cumsum([0, *whole.hop_nodes[:-1]])]).tolist())
    torch.manual_seed(seed)
    assert edges(without_edges(whole, share)) == edges(part)


def test_each_edge_is_left_out_as_often_as_said():
    whole, counts, rounds = graph(np.random.default_rng(0), 2, False), 0, 400
    torch.manual_seed(1)
    parts = [len(edges(without_edges(whole, 0.3))) for _ in range(rounds)]
    counts, total = sum(parts), rounds * len(whole.indices)
    assert abs(counts - 0.7 * total) < 5 * (0.21 * total) ** 0.5
    assert len(set(parts)) > 10
    assert edges(without_edges(whole, 0.0)) == edges(whole)
