"""Lists in memory keep what belongs to an edge beside it, whichever edges are taken."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.graph.whole_lists import WholeLists


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=12), most=st.integers(0, 10), seed=st.integers(0, 99))
def test_some_edges_of_each_node_are_drawn(counts, most, seed):
    rng, edges = np.random.default_rng(seed), sum(counts)
    sources = rng.integers(len(counts), size=edges).astype(np.int32)
    rel, factors = rng.integers(3, size=edges), rng.random(edges).astype(np.float32)
    lists = WholeLists(np.concatenate([[0], np.cumsum(counts)]), sources, rel, factors)
    found = lists.drawn(most)
    assert np.diff(found.indptr).tolist() == [min(count, most) for count in counts]
    for node in range(len(counts)):
        of, near = (
            Counter(
                zip(
                    *(part[each.indptr[node] : each.indptr[node + 1]].tolist() for part in (each.sources, each.rel, each.factors))
                )
            )
            for each in (found, lists)
        )
        assert of <= near
    assert (lists.drawn(most).sources == found.sources).all()
    bare = WholeLists(lists.indptr, sources).drawn(most)
    assert bare.rel is None
    assert bare.factors is None
    assert (bare.sources == found.sources).all()
