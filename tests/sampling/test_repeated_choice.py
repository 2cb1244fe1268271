"""With replacement a node draws as many edges as its fanout says, each in proportion to its weight, whatever was drawn before."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling_tools import in_lists, make_sampler
from test_sampler import worlds


@settings(max_examples=150, deadline=None)
@given(worlds(), st.sampled_from([-1, 0, 1, 3, 40]), st.booleans(), st.booleans(), st.integers(0, 2**64 - 1))
def test_as_many_as_wanted_of_the_edges_that_may_be_drawn(world, fanout, weighted, by_relation, seed):
    nodes, rows, edges, base_rows, seeds = world
    edges = [(src, dst, rel, src % 3) for src, dst, rel in edges] if weighted else edges
    sampler = make_sampler(nodes, rows, in_lists(nodes, rows, edges), base_rows)
    hop = np.array([fanout, 2, 0, -1], np.int64) if by_relation else fanout
    excluded = np.array([edge[:2] for edge in edges[::5]], np.int64).reshape(-1, 2)
    found = [sampler.sample(np.array(seeds, np.int64), [hop], seed, threads, excluded, replace=True) for threads in (1, 2)]
    for name, value in found[0].items():
        assert np.array_equal(value, found[1][name])
    for place, node in enumerate(seeds):
        mine = slice(found[0]["indptr"][place], found[0]["indptr"][place + 1])
        drawn = list(zip(found[0]["nodes"][found[0]["indices"][mine]].tolist(), found[0]["rel"][mine].tolist()))
        assert drawn == sorted(drawn)  # in order of the list
        may = [
            (src, rel, *weight)
            for src, dst, rel, *weight in sorted(edges)
            if dst == node and src // rows in base_rows and [src, node] not in excluded.tolist()
        ]
        for group in range(4) if by_relation else [None]:
            wanted = fanout if group is None else int(hop[group])
            candidates = [edge for edge in may if group is None or edge[1] == group]
            got = [edge for edge in drawn if group is None or edge[1] == group]
            if wanted < 0:
                assert Counter(got) == Counter(edge[:2] for edge in candidates)
            else:
                likely = [edge[:2] for edge in candidates if not weighted or edge[2] > 0]
                assert len(got) == (wanted if likely else 0)
                assert set(got) <= set(likely)


@pytest.mark.parametrize("by_relation", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_draw_is_in_proportion_to_weight(by_relation, weighted):
    """Chi-square over seeds, of the draws and of pairs of draws: the second does not depend on the first."""
    weights = np.array([1, 2, 0, 4, 1], np.float64) if weighted else np.ones(5)
    edges = [(src, 9, 0, *([weight] if weighted else [])) for src, weight in enumerate(weights)]
    sampler = make_sampler(10, 10, in_lists(10, 10, edges), {0: 0})
    hop, rounds = np.array([2], np.int64) if by_relation else 2, 6000
    drawn = np.array([_sources(sampler.sample(np.array([9]), [hop], seed, 1, replace=True)) for seed in range(rounds)])
    shares = weights / weights.sum()
    pairs = np.zeros((5, 5))
    np.add.at(pairs, (drawn[:, 0], drawn[:, 1]), 1)
    expected = rounds * np.triu(np.outer(shares, shares) * (2 - np.eye(5)))  # draws of a node are in order
    possible = expected > 0
    assert pairs[~possible].sum() == 0
    chi, freedom = ((pairs - expected)[possible] ** 2 / expected[possible]).sum(), possible.sum() - 1
    assert abs(chi - freedom) < 5 * np.sqrt(2 * freedom)


def test_hops_nodes_and_seeds_draw_for_themselves():
    edges = [(src, dst, 0) for dst in (7, 8) for src in range(6)] + [(7, 6, 0)]
    sampler = make_sampler(9, 9, in_lists(9, 9, edges), {0: 0})
    seen = {
        tuple(_sources(sampler.sample(np.array([node]), hops, seed, 1, replace=True))[-20:].tolist())
        for node, hops, seed in [(7, [20], 0), (8, [20], 0), (7, [20], 1), (6, [1, 20], 0)]
    }
    assert len(seen) == 4


def test_a_relation_without_a_fanout_is_refused():
    sampler = make_sampler(3, 3, in_lists(3, 3, [(0, 1, 0), (0, 1, 2)]), {0: 0})
    with pytest.raises(ValueError, match="relation 2: there are fanouts for 2"):
        sampler.sample(np.array([1]), [np.array([1, 1])], 0, replace=True)


def _sources(sample):
    return sample["nodes"][sample["indices"]]
