"""Draws by relation and by weight: those of a plain sampler, as likely as they should be, the same for any number of threads."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling_tools import in_lists, make_sampler, naive_sample

from marius_lite import _native

RELATIONS = 4
WEIGHTS = [0.0, 1e-30, 0.25, 1.0, 1.0, 7.0, 3e38]


@st.composite
def worlds(draw):
    """(nodes, rows, edges with weights, {resident partition: first row}, seeds); few ends make hubs and parallel edges."""
    nodes = draw(st.integers(1, 30))
    rows = draw(st.integers(1, nodes))
    end = st.integers(0, nodes - 1) | st.integers(0, min(2, nodes - 1))
    edges = draw(st.lists(st.tuples(end, end, st.integers(0, RELATIONS - 1), st.sampled_from(WEIGHTS)), min_size=1, max_size=150))
    resident = draw(st.sets(st.integers(0, -(-nodes // rows) - 1), min_size=1))
    base_rows = {k: 1000 * slot for slot, k in enumerate(sorted(resident))}
    here = [node for node in range(nodes) if node // rows in resident]
    return nodes, rows, edges, base_rows, draw(st.lists(st.sampled_from(here), max_size=10, unique=True))


count = st.sampled_from([-1, 0, 1, 2, 3, 5, 40])
by_relation = st.lists(count, min_size=RELATIONS, max_size=RELATIONS).map(lambda numbers: np.array(numbers, np.int64))


@settings(max_examples=300, deadline=None)
@given(
    worlds(),
    st.lists(count | by_relation, max_size=4),
    st.integers(0, 2**64 - 1),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_equals_the_naive_sampler(world, fanouts, seed, threads, weighted, wide, data):
    nodes, rows, edges, base_rows, seeds = world
    edges = edges if weighted else [edge[:3] for edge in edges]
    exclude = data.draw(st.lists(st.sampled_from([edge[:2] for edge in edges]), max_size=4))
    sampler = make_sampler(nodes, rows, in_lists(nodes, rows, edges), base_rows, wide=wide)
    pairs = np.array(exclude, np.int64).reshape(-1, 2)
    for again in (seed, seed ^ 1):
        found = sampler.sample(np.array(seeds, np.int64), fanouts, again, threads, pairs, True)
        expected = naive_sample(rows, edges, base_rows, seeds, fanouts, again, exclude, True)
        assert {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()} == expected


@pytest.fixture(scope="module")
def hubs():
    """2,000 nodes, 60,000 weighted edges of 5 relations, hubs with thousands of in-edges and parallel ones among them."""
    rng = np.random.default_rng(0)
    src, dst = ((2000 * rng.random(60_000) ** 4).astype(int).tolist() for _ in range(2))
    weights = rng.choice([0, 0.5, 1, 4, 100], 60_000).tolist()
    return list(zip(src, dst, rng.integers(0, 5, 60_000).tolist(), weights))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fanouts", [[7, 40], [np.array([3, 0, 60, -1, 1]), 5, np.array([1, 1, 1, 1, 1])]])
@pytest.mark.parametrize("resident", [range(20), range(0, 20, 2)])
def test_threads_change_nothing_and_no_edge_comes_twice(hubs, weighted, fanouts, resident):
    edges = hubs if weighted else [edge[:3] for edge in hubs]
    sampler = make_sampler(2000, 100, in_lists(2000, 100, edges), {k: 100 * k for k in resident})
    seeds = np.array([n for n in np.random.default_rng(1).permutation(2000) if n // 100 in resident][:600])
    found = [sampler.sample(seeds, fanouts, 7, threads) for threads in (1, 2, 4, 2)]
    for other in found[1:]:
        for name, value in found[0].items():
            assert np.array_equal(value, other[name])
    one = found[0]
    assert len(one["indices"]) > 2000
    ends = one["nodes"]
    dst = np.repeat(ends[: len(one["indptr"]) - 1], np.diff(one["indptr"])).tolist()
    drawn = Counter(zip(ends[one["indices"]].tolist(), dst, one["rel"].tolist()))
    there = Counter(edge[:3] for edge in edges)
    assert all(there[edge] >= times for edge, times in drawn.items())


def test_fanouts_by_relation_are_met(hubs):
    """So many of each relation, or all there are."""
    fanout = np.array([3, 0, 60, -1, 1])
    sampler = make_sampler(2000, 2000, in_lists(2000, 2000, [edge[:3] for edge in hubs]), {0: 0})
    found = sampler.sample(np.arange(2000), [fanout], 1)
    degrees = np.zeros((2000, 5), int)
    np.add.at(degrees, tuple(np.array([(dst, rel) for _, dst, rel, _ in hubs]).T), 1)
    drawn = np.zeros((2000, 5), int)
    np.add.at(drawn, (np.repeat(np.arange(2000), np.diff(found["indptr"])), found["rel"]), 1)
    assert np.array_equal(drawn, np.where(fanout < 0, degrees, np.minimum(degrees, fanout)))


def sequential(weights, wanted):
    """The probability of each set of ``wanted`` edges drawn one after the other in proportion to what weights are left."""
    found = Counter()
    for order in permutations(range(len(weights)), wanted):
        likely, left = 1.0, sum(weights)
        for x in order:
            likely *= weights[x] / left if left else 0
            left -= weights[x]
        found[frozenset(order)] += likely
    return found


def frequencies(edges, fanout, varied, rounds):
    """How often each set of neighbours is drawn of one list while the seed, or the node whose list it is, varies."""
    found = Counter()
    nodes = rounds if varied == "node" else 1
    edges = [(src, dst, *rest) for dst in range(nodes) for src, _, *rest in edges]
    sampler = make_sampler(rounds, rounds, in_lists(rounds, rounds, edges), {0: 0})
    if varied == "node":
        sample = sampler.sample(np.arange(rounds), [fanout], 5)
        for low, high in zip(sample["indptr"].tolist(), sample["indptr"][1:].tolist()):
            found[frozenset(sample["nodes"][sample["indices"][low:high]].tolist())] += 1
        return found
    for x in range(rounds):
        sample = sampler.sample(np.zeros(1, np.int64), [fanout], x)
        found[frozenset(sample["nodes"][sample["indices"]].tolist())] += 1
    return found


def assert_as_likely(found, expected):
    """Chi-square within five standard deviations; what cannot be is never found."""
    rounds = sum(found.values())
    possible = {kind: p for kind, p in expected.items() if p > 0}
    assert sum(possible.values()) == pytest.approx(1)
    assert found.keys() <= possible.keys()
    chi = sum((found[kind] - rounds * p) ** 2 / (rounds * p) for kind, p in possible.items())
    freedom = len(possible) - 1
    assert chi < freedom + 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("varied", ["seed", "node"])
@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        ([1, 2, 3, 4], 1),
        ([1, 2, 3, 4], 2),
        ([1, 1, 1, 1, 1], 3),
        ([5, 0, 1, 0, 1], 2),
        ([100, 1, 1, 1], 2),
        ([0.1, 0.2, 0.4, 0.8, 1.6], 3),
    ],
)
def test_weighted_draws_are_sequential_draws(weights, wanted, varied):
    edges = [(src, 0, 0, weight) for src, weight in enumerate(weights)]
    assert_as_likely(frequencies(edges, wanted, varied, 6000), sequential(weights, wanted))


@pytest.mark.parametrize("varied", ["seed", "node"])
def test_draws_by_relation_are_uniform_and_independent(varied):
    edges = [(src, 0, 0) for src in range(4)] + [(4 + src, 0, 1) for src in range(3)] + [(7, 0, 2), (8, 0, 2)]
    found = frequencies(edges, np.array([2, 1, -1]), varied, 6000)
    pairs = [{a, b} for a in range(4) for b in range(a)]
    assert_as_likely(found, {frozenset({*pair, one, 7, 8}): 1 / 18 for pair in pairs for one in (4, 5, 6)})


def test_weighted_draws_by_relation():
    edges = [(0, 0, 0, 1.0), (1, 0, 0, 3.0), (2, 0, 1, 2.0), (3, 0, 1, 0.0), (4, 0, 1, 6.0), (5, 0, 2, 0.0)]
    found = frequencies(edges, np.array([1, 1, -1]), "seed", 6000)
    assert_as_likely(found, {frozenset({a, b, 5}): p * q for a, p in ((0, 0.25), (1, 0.75)) for b, q in ((2, 0.25), (4, 0.75))})


def test_a_long_list_is_drawn_from_as_its_keys_say():
    """The logarithms that are spared change nothing; 40 of 20,000 edges, by weight."""
    rng = np.random.default_rng(3)
    weights = (rng.random(20_000) ** 8).astype(np.float32)
    indptr, sources = np.array([0, 20_000] + [20_000] * 19_999), np.arange(20_000, dtype=np.uint32)
    sampler = _native.NeighbourSampler(20_000, 20_000)
    sampler.enter(0, 0, indptr, sources, None, weights)
    for seed in range(20):
        found = sampler.sample(np.zeros(1, np.int64), [40], seed)
        smallest = np.argsort(_native.neighbour_keys(seed, 0, 0, 20_000, weights))[:40]
        assert found["nodes"][found["indices"]].tolist() == sorted(smallest.tolist())


def test_an_edge_of_no_weight_is_taken_by_all_alone():
    sampler = make_sampler(3, 3, in_lists(3, 3, [(1, 0, 0, 0.0), (2, 0, 0, 1.0)]), {0: 0})
    assert [len(sampler.sample(np.array([0]), [fanout], 0)["indices"]) for fanout in (-1, 0, 1, 2)] == [2, 0, 1, 1]


@pytest.mark.parametrize(
    ("fanouts", "message"),
    [
        ([np.array([1, -2])], "fanouts: a number of neighbours, or -1 for all"),
        ([np.array([], np.int64)], "fanouts by relation: one for each relation"),
        ([np.array([2, 2])], "relation 2: there are fanouts for 2"),
    ],
)
def test_refused_fanouts(fanouts, message):
    sampler = make_sampler(2, 2, in_lists(2, 2, [(1, 0, 0), (1, 0, 2)]), {0: 0})
    with pytest.raises(ValueError, match=message):
        sampler.sample(np.array([0]), fanouts, 0)
    assert len(sampler.sample(np.array([0]), [np.array([1, 1, 1])], 0)["indices"]) == 2


def test_refused_lists():
    sampler = make_sampler(4, 2, in_lists(4, 2, [(1, 0, 0), (1, 0, 2)]), {0: 0}, relations=False)
    with pytest.raises(ValueError, match="fanouts by relation: the lists have no relations"):
        sampler.sample(np.array([0]), [np.array([1, 1, 1])], 0)
    with pytest.raises(ValueError, match="partition 1: has weights, those before have none"):
        sampler.enter(1, 2, np.array([0, 0, 1]), np.array([1], np.uint32), None, np.array([1], np.float32))
    with pytest.raises(ValueError, match="weights: one for each source"):
        sampler.enter(1, 2, np.array([0, 0, 1]), np.array([1], np.uint32), None, np.array([1, 2], np.float32))
    weighted = make_sampler(4, 2, in_lists(4, 2, [(1, 0, 0, 1.0)]), {0: 0})
    with pytest.raises(ValueError, match="partition 1: weights are missing"):
        weighted.enter(1, 2, np.array([0, 0, 1]), np.array([1], np.uint32), np.array([0], np.uint32))
