"""Edges chosen for evaluation: all once, or a fixed uniform sample, without reading what is not needed."""

import numpy as np
import pytest
from ranking_fakes import FakeEdges

from marius_lite.config.memory import KEPT_BYTES
from marius_lite.evaluate import select_edges
from marius_lite.evaluate.edges import kept_where_few
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.kept import KeptEdges
from marius_lite.graph.partitioning import Partitioning


def edges_of(count=500, nodes=40, p=4, seed=0):
    rng = np.random.default_rng(seed)
    triples = np.stack([rng.integers(0, limit, count) for limit in (nodes, 3, nodes)], axis=1)
    return FakeEdges(triples, Partitioning(nodes, p))


def rows(blocks):
    return np.concatenate([np.stack(block, 1) for block in blocks])


def ordered(triples):
    return triples[np.lexsort(triples.T)]


@pytest.mark.parametrize("p", [1, 4, 9])
@pytest.mark.parametrize("block", [1, 7, 64, 10**6])
@pytest.mark.parametrize("max_edges", [None, 500, 10**9])
def test_all_edges_once_in_bounded_blocks(p, block, max_edges):
    edges = edges_of(p=p)
    blocks = list(select_edges(edges, max_edges, 0, block))
    assert all(len(part.src) == block for part in blocks[:-1])
    assert 0 < len(blocks[-1].src) <= block
    np.testing.assert_array_equal(ordered(rows(blocks)), ordered(edges.edges))


@pytest.mark.parametrize("max_edges", [0, 1, 20, 499])
def test_a_sample_has_its_size_and_is_fixed(max_edges):
    edges = edges_of()
    every = {tuple(edge) for edge in edges.edges.tolist()}
    first, again, other = (list(select_edges(edges, max_edges, seed, 16)) for seed in (0, 0, 1))
    assert sum(len(block.src) for block in first) == max_edges
    if max_edges:
        np.testing.assert_array_equal(rows(first), rows(again))
        assert {tuple(edge) for edge in rows(first).tolist()} <= every
    if max_edges > 1:
        assert ordered(rows(first)).tolist() != ordered(rows(other)).tolist()


def test_a_sample_takes_positions_not_values():
    """An edge that stands in the file twice may be drawn twice; all positions are equally likely."""
    edges = edges_of(count=50)
    drawn = np.zeros(50)
    for seed in range(2000):
        picked = rows(select_edges(edges, 5, seed))
        for edge in picked:
            drawn[np.flatnonzero((edges.edges == edge).all(axis=1))] += 1
    assert drawn.min() > 2000 * 5 / 50 * 0.7
    assert drawn.max() < 2000 * 5 / 50 * 1.3


def test_buckets_without_a_chosen_edge_are_not_read():
    edges = edges_of(p=20)
    list(select_edges(edges, 3, 0))
    assert 1 <= len(edges.buckets_read) <= 3


def test_no_edges():
    assert list(select_edges(edges_of(count=0), None, 0)) == []


def test_many_edges_are_not_kept(tiny_dataset):
    edges = Dataset.open(tiny_dataset).edges("train")
    size = 2 * edges.total * KEPT_BYTES
    assert kept_where_few([edges, edges], size - 1) == ([edges, edges], 0)
    splits, taken = kept_where_few([edges, edges], size)
    assert all(isinstance(split, KeptEdges) for split in splits)
    assert taken == size
