"""The native neighbour sampler equals a plain one, whatever the graph, the partitions at hand and the threads."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling_tools import in_lists, make_sampler, naive_sample

from marius_lite import _native

DTYPES = {
    "nodes": np.int64,
    "rows": np.int64,
    "hop_nodes": np.int32,
    "indptr": np.int64,
    "indices": np.int32,
    "rel": np.uint32,
    "hop_edges": np.int32,
}


@st.composite
def worlds(draw):
    """(nodes, rows, edges, {resident partition: first row}, seeds)."""
    nodes = draw(st.integers(1, 40))
    rows = draw(st.integers(1, nodes))
    node = st.integers(0, nodes - 1)
    # Few ends make hubs and parallel edges.
    hub = st.integers(0, min(2, nodes - 1))
    edge = st.tuples(node | hub, node | hub, st.integers(0, 3))
    edges = draw(st.lists(edge, max_size=150))
    partitions = -(-nodes // rows)
    resident = draw(st.sets(st.integers(0, partitions - 1), min_size=1))
    base_rows = {k: 1000 * slot for slot, k in enumerate(draw(st.permutations(sorted(resident))))}
    here = [node for node in range(nodes) if node // rows in resident]
    seeds = draw(st.lists(st.sampled_from(here), max_size=10, unique=True))
    return nodes, rows, edges, base_rows, seeds


fanouts = st.lists(st.sampled_from([-1, 0, 1, 2, 3, 5, 40]), max_size=4)


@settings(max_examples=300, deadline=None)
@given(worlds(), fanouts, st.integers(0, 2**64 - 1), st.sampled_from([1, 2, 4]), st.booleans(), st.booleans(), st.data())
def test_equals_the_naive_sampler(world, fanouts, seed, threads, wide, both, data):
    nodes, rows, edges, base_rows, seeds = world
    exclude = data.draw(
        st.lists(
            st.tuples(*[st.integers(0, nodes - 1)] * 2)
            if not edges
            else st.sampled_from([(s, d) for s, d, _ in edges] + [(0, 0)]),
            max_size=6,
        )
    )
    sampler = make_sampler(nodes, rows, in_lists(nodes, rows, edges), base_rows, wide=wide)
    given_pairs = np.array(exclude, np.int64).reshape(-1, 2) if exclude else None
    for again in (seed, seed ^ 1, seed):  # what a call leaves behind does not matter to the next
        found = sampler.sample(np.array(seeds, np.int64), fanouts, again, threads, given_pairs, both)
        expected = naive_sample(rows, edges, base_rows, seeds, fanouts, again, exclude, both)
        assert {name: found[name].dtype for name in DTYPES} == DTYPES
        assert {name: value.tolist() if name in DTYPES else value for name, value in found.items()} == expected


@pytest.fixture(scope="module")
def power_law():
    """3,000 nodes, 60,000 edges, some hubs with thousands of in-edges, in partitions of 100."""
    rng = np.random.default_rng(0)
    popular = lambda: (3000 * rng.random(60_000) ** 4).astype(int)  # noqa: E731
    edges = list(zip(popular().tolist(), popular().tolist(), rng.integers(0, 5, 60_000).tolist()))
    return 3000, 100, edges, in_lists(3000, 100, edges)


@pytest.mark.parametrize("resident", [range(30), range(0, 30, 2), [*range(9), 20, 25, 26]])
def test_threads_change_nothing(power_law, resident):
    nodes, rows, edges, lists = power_law
    base_rows = {k: 128 * k for k in resident}
    sampler = make_sampler(nodes, rows, lists, base_rows)
    seeds = np.random.default_rng(1).permutation([n for n in range(nodes) if n // rows in base_rows])[:700].astype(np.int64)
    found = [sampler.sample(seeds, [10, 40, 3, -1], 7, threads) for threads in (1, 2, 3, 4, 2, 20)]
    for other in found[1:]:
        for name, value in found[0].items():
            assert np.array_equal(value, other[name])
    local = {node: i for i, node in enumerate(found[0]["nodes"].tolist())}
    assert len(local) == len(found[0]["nodes"])
    assert all(node // rows in base_rows for node in local)
    assert len(found[0]["indices"]) > 10_000
    there = Counter((src, dst, rel) for src, dst, rel in edges)
    ends = found[0]["nodes"]
    dst = np.repeat(ends[: len(found[0]["indptr"]) - 1], np.diff(found[0]["indptr"]))
    sampled = Counter(zip(ends[found[0]["indices"]].tolist(), dst.tolist(), found[0]["rel"].tolist()))
    assert all(there[edge] >= count for edge, count in sampled.items())  # edges that exist, none more often than it does


@pytest.mark.parametrize(("degree", "fanout"), [(2, 1), (7, 3), (64, 20), (65, 20), (100, 99), (90, 33), (10**12, 40)])
def test_draws_are_distinct_and_in_range(degree, fanout):
    for node in range(200):
        drawn = _native.neighbour_draws(3, 1, node, degree, fanout).tolist()
        assert len(set(drawn)) == fanout
        assert max(drawn) < degree


@pytest.mark.parametrize(("degree", "fanout"), [(10, 3), (100, 5), (80, 40)])
def test_every_neighbour_is_as_likely(degree, fanout):
    """Chi-square over nodes, hops and seeds; draws without replacement vary by a factor (1 - fanout / degree) less."""
    rounds = 4000
    for varied in range(3):
        taken = np.zeros((rounds, degree))
        for x in range(rounds):
            place = [5, 1, 9]
            place[varied] = x
            taken[x, _native.neighbour_draws(*place, degree, fanout)] = 1
        expected = rounds * fanout / degree
        chi = ((taken.sum(0) - expected) ** 2).sum() / expected / (1 - fanout / degree) * (degree - 1) / degree
        assert abs(chi - (degree - 1)) < 5 * np.sqrt(2 * (degree - 1))
        together = (taken.T @ taken)[~np.eye(degree, dtype=bool)]
        expected *= (fanout - 1) / (degree - 1)
        assert np.abs(together - expected).max() < 6 * np.sqrt(expected)


def test_entering_and_leaving_costs_what_changes(power_law):
    nodes, rows, edges, lists = power_law
    sampler = make_sampler(nodes, rows, lists, {0: 0, 1: 128})
    moved = len(lists[0][1]) + len(lists[1][1])
    assert sampler.edges_moved == moved
    sampler.leave(0)
    sampler.enter(5, 0, *lists[5])
    assert sampler.edges_moved == moved + len(lists[5][1])
    seeds = np.arange(100, 140)
    found = sampler.sample(seeds, [4, -1], 0)
    assert found["nodes"].tolist() == naive_sample(rows, edges, {1: 128, 5: 0}, seeds.tolist(), [4, -1], 0)["nodes"]


def test_lists_live_as_long_as_they_are_here():
    indptr, sources = np.array([0, 2, 3]), np.array([0, 1, 1], np.uint32)
    sampler = _native.NeighbourSampler(2, 2)
    sampler.enter(0, 0, indptr.copy(), sources.copy())
    found = sampler.sample(np.array([1, 0]), [-1], 0)
    assert found["indices"].tolist() == [0, 1, 0]
    assert found["rel"] is None


@pytest.mark.parametrize(
    ("seeds", "fanouts", "message"),
    [
        ([0, 3], [2], "seed 3: the lists of partition 1 are not here"),
        ([4], [2], "seed 4: no node"),
        ([-1], [2], "seed -1: no node"),
        ([1, 0, 1], [2], "seed 1: stands there twice"),
        ([1], [2, -2], "fanouts: a number of neighbours, or -1 for all"),
    ],
)
def test_refused_samples(seeds, fanouts, message):
    sampler = make_sampler(4, 2, in_lists(4, 2, [(0, 1, 0)]), {0: 0})
    with pytest.raises(ValueError, match=message):
        sampler.sample(np.array(seeds), fanouts, 0)
    assert sampler.sample(np.array([1, 0]), [2], 0)["indices"].tolist() == [1]


@pytest.mark.parametrize(
    ("k", "indptr", "sources", "rel", "message"),
    [
        (2, [0, 0, 0], [], None, "no such partition"),
        (1, [0, 1], [0], None, "indptr: one more than the partition has nodes"),
        (1, [0, 2, 1], [0], None, "partition 1: indptr does not lead"),
        (1, [1, 1, 1], [0], None, "partition 1: indptr does not lead"),
        (1, [0, 1, 1], [4], None, "one is no node"),
        (1, [0, 1, 1], [3], [0, 0], "rel: one for each source"),
        (1, [0, 1, 1], [3], [0], "has relations, those before have none"),
        (0, [0, 1, 1], [3], None, "partition 0: its lists are here already"),
    ],
)
def test_refused_lists(k, indptr, sources, rel, message):
    sampler = _native.NeighbourSampler(2, 4)
    sampler.enter(0, 0, np.array([0, 1, 1]), np.array([1], np.uint32))
    with pytest.raises(ValueError, match=message):
        sampler.enter(k, 0, np.array(indptr), np.array(sources, np.uint32), None if rel is None else np.array(rel, np.uint32))
    with pytest.raises(ValueError, match="its lists are not here"):
        sampler.leave(1)
