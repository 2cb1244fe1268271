"""A tree is the neighbourhood of one seed, sampled for itself. All trees stand hop beside hop."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling_tools import in_lists, make_sampler
from test_sampler import fanouts, worlds

from marius_lite.sampling.neighbours import NeighbourSample, trees_of

MASK = 2**64 - 1


def mixed(x):
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ (x >> 33)) * factor & MASK
    return x ^ (x >> 33)


def seed_of(tree, seed):
    return mixed(mixed((tree + seed) & MASK) ^ seed)


def hop_by_hop(sample):
    """For each hop: its nodes, rows and [(target, [(source, rel), ...]), ...], by places in the sample."""
    nodes, hops, first, edge = [sample[name].tolist() for name in ("nodes", "rows")], [], 0, sample["indptr"].tolist()
    ends = list(zip(sample["indices"].tolist(), sample["rel"].tolist()))
    for hop, new in enumerate(sample["hop_nodes"].tolist()):
        here = range(first, first + new)
        drawn = [(i, ends[edge[i] : edge[i + 1]]) for i in here] if hop + 1 < len(sample["hop_nodes"]) else []
        hops.append((nodes[0][first : first + new], nodes[1][first : first + new], drawn))
        first += new
    return hops


@settings(max_examples=150, deadline=None)
@given(worlds(), fanouts, st.integers(0, MASK), st.sampled_from([1, 3]), st.booleans(), st.booleans())
def test_trees_are_the_samples_of_single_seeds(world, fanouts, seed, threads, wide, replace):
    nodes, rows, edges, base_rows, seeds = world
    sampler = make_sampler(nodes, rows, in_lists(nodes, rows, edges), base_rows, wide=wide)
    seeds = (seeds * 30)[:200]  # several tasks; a seed may stand there twice
    alone = [sampler.sample(np.array([s], np.int64), fanouts, seed_of(t, seed), 1, replace=replace) for t, s in enumerate(seeds)]
    found = sampler.sample_trees(np.array(seeds, np.int64), fanouts, seed, threads, replace)
    assert (found["neighbours"], found["missing"]) == tuple(
        sum(tree[name] for tree in alone) for name in ("neighbours", "missing")
    )
    trees = trees_of(NeighbourSample(**found))
    assert trees.tolist() == [
        t for hop in range(len(fanouts) + 1) for t, tree in enumerate(alone) for _ in range(tree["hop_nodes"][hop])
    ]
    whole, local = hop_by_hop(found), [np.flatnonzero(trees == t).tolist() for t in range(len(seeds))]
    assert found["hop_edges"].tolist() == [sum(int(tree["hop_edges"][hop]) for tree in alone) for hop in range(len(fanouts))]
    for hop, (its_nodes, its_rows, drawn) in enumerate(whole):
        parts = [hop_by_hop(tree)[hop] for tree in alone]
        assert its_nodes == [node for part in parts for node in part[0]]
        assert its_rows == [row for part in parts for row in part[1]]
        assert drawn == [
            (local[t][i], [(local[t][source], rel) for source, rel in ends])
            for t, part in enumerate(parts)
            for i, ends in part[2]
        ]
