"""The edges among nodes are all that the graph has there, inside of their trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling_tools import in_lists, make_sampler
from test_sampler import worlds


@settings(max_examples=200, deadline=None)
@given(worlds(), st.sampled_from([1, 3]), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_all_edges_of_the_graph(world, threads, wide, in_trees, random):
    nodes, rows, edges, base_rows, seeds = world
    sampler = make_sampler(nodes, rows, in_lists(nodes, rows, edges), base_rows, wide=wide)
    here = [node for node in range(nodes) if node // rows in base_rows]
    trees = [random.sample(here, random.randint(0, len(here))) for _ in range(3)] if in_trees else [seeds]
    placed = [(tree, node) for tree, its in enumerate(trees) for node in its]
    random.shuffle(placed)
    given_trees = np.array([tree for tree, _ in placed], np.int32) if in_trees else None
    found = sampler.edges_among(np.array([node for _, node in placed], np.int64), given_trees, threads)
    for place, (tree, node) in enumerate(placed):
        mine = slice(found["indptr"][place], found["indptr"][place + 1])
        sources = [placed[at] for at in found["indices"][mine].tolist()]
        expected = sorted((src, rel) for src, dst, rel in edges if dst == node and src in trees[tree])
        assert [(tree, src, rel) for src, rel in expected] == [
            (t, s, r) for (t, s), r in zip(sources, found["rel"][mine].tolist())
        ]
    assert len(found["indptr"]) == len(placed) + 1
    assert found["indptr"][-1] == len(found["indices"])


def test_lists_longer_than_the_batch_and_shorter_ones():
    edges = [(src, dst, src % 2) for dst in (0, 5) for src in range(300)] + [(7, 7, 0), (7, 7, 1)]
    sampler = make_sampler(300, 100, in_lists(300, 100, edges), {0: 0, 1: 100, 2: 200})
    found = sampler.edges_among(np.array([7, 0, 299], np.int64))
    assert found["indptr"].tolist() == [0, 2, 5, 5]
    assert found["indices"].tolist() == [0, 0, 1, 0, 2]
    assert found["rel"].tolist() == [0, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("nodes", "trees", "said"),
    [
        ([3, 4, 3], None, "node 3: stands there twice"),
        ([3, 4, 4], [0, 1, 1], "node 4: stands there twice"),
        ([3, 150], None, "node 150: no resident node"),
        ([-1], None, "node -1: no resident node"),
        ([3], [-1], "no resident node of a tree"),
        ([3], [0, 1], "trees: one for each node"),
    ],
)
def test_other_nodes_are_refused(nodes, trees, said):
    sampler = make_sampler(300, 100, in_lists(300, 100, []), {0: 0, 2: 200})
    with pytest.raises(ValueError, match=said):
        sampler.edges_among(np.array(nodes, np.int64), None if trees is None else np.array(trees, np.int32))
