"""Links are the edges in both directions, without relations."""

import numpy as np

from marius_lite.evaluate import select_edges
from marius_lite.graph.dataset import Dataset
from marius_lite.search.linked import AsLinks, links


def pairs(edges):
    return {(int(s), int(r), int(d)) for block in select_edges(edges, None, 0) for s, r, d in zip(*block)}


def test_links_are_edges_either_way(tiny_dataset):
    edges = Dataset.open(tiny_dataset).edges("train")
    expected = {(s, 0, d) for s, _, d in pairs(edges)}
    assert pairs(AsLinks(edges, False)) == expected
    assert pairs(AsLinks(edges, True)) == {(d, 0, s) for s, _, d in expected}
    np.testing.assert_array_equal(AsLinks(edges, True).counts, edges.counts.T)
    assert [link.total for link in links([edges])] == [edges.total] * 2


def test_some_buckets_are_turned(tiny_dataset):
    edges = Dataset.open(tiny_dataset).edges("train")
    names = ("src", "dst", "rel")
    (one,) = edges.block(range(1, 2), range(2, 3), 1 << 20, names)
    (other,) = AsLinks(edges, True).block(range(2, 3), range(1, 2), 1 << 20, names)
    np.testing.assert_array_equal(one.columns[0], other.columns[1])
    np.testing.assert_array_equal(one.columns[1], other.columns[0])
    assert other.buckets.tolist() == [2 * edges.partitioning.partitions + 1]
