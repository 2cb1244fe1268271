"""Partitions are dealt by their edges: the lanes of a round have nearly as many."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.ordering.dealing import evened, filled
from marius_lite.ordering.lanes import EVEN_LANES, LANES_BY_EDGES, make_lanes_plan, rounds_of
from marius_lite.ordering.rounds import from_one, plane, tournament


def popular(partitions, seed, spread=0.2):
    """Edges of each bucket, where nodes of some partitions have more than those of others."""
    rng = np.random.default_rng(seed)
    weight = rng.lognormal(0, spread, partitions)
    return rng.poisson(10_000 * np.outer(weight, weight)).astype(np.int64)


def clustered(partitions, seed):
    """Edges of each bucket, where most are inside a partition."""
    return popular(partitions, seed) + np.diag(np.random.default_rng(seed).integers(1, 3_000_000, partitions))


def of_slowest(plan, counts, lanes):
    """What the slowest lanes of all rounds train, times the lanes, beside all edges: 1 where none waits."""
    rounds = [[sum(int(counts[b]) for step in steps for b in step.buckets) for steps in each] for each in rounds_of(plan, lanes)]
    return sum(map(max, rounds)) * lanes / counts.sum()


@pytest.mark.parametrize(
    ("lanes", "partitions", "most"),
    [(2, 16, 1.01), (4, 16, 1.12), (4, 32, 1.03), (4, 64, 1.02), (3, 9, 1.08), (3, 27, 1.03), (6, 48, 1.06), (8, 128, 1.06)],
)
def test_the_lanes_of_a_round_have_nearly_as_many_edges(lanes, partitions, most):
    found = {
        ordering: np.mean(
            [
                of_slowest(make_lanes_plan(lanes, counts, partitions, seed, 1, ordering), counts, lanes)
                for seed in range(3)
                for counts in [popular(partitions, seed)]
            ]
        )
        for ordering in (EVEN_LANES, LANES_BY_EDGES)
    }
    assert found[LANES_BY_EDGES] < most
    assert found[LANES_BY_EDGES] - 1 < (found[EVEN_LANES] - 1) / 2


@pytest.mark.parametrize(("lanes", "partitions"), [(2, 16), (4, 32)])
@pytest.mark.parametrize("epoch", [0, 1])
def test_edges_inside_partitions_are_shared_out(lanes, partitions, epoch):
    counts = clustered(partitions, 0)
    old, new = (
        of_slowest(make_lanes_plan(lanes, counts, partitions, 3, epoch, ordering), counts, lanes)
        for ordering in (EVEN_LANES, LANES_BY_EDGES)
    )
    assert new - 1 < (old - 1) * 0.6


@given(st.integers(2, 5), st.integers(1, 3), st.booleans(), st.booleans(), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_groups_keep_their_sizes_and_waiting_is_not_more(lanes, size, pairs, first, seed):
    rng = np.random.default_rng(seed)
    rounds = tournament(2 * lanes) if pairs else plane(lanes)
    number = 2 * lanes if pairs else lanes**2
    rounds = from_one(rounds, lanes) if first else rounds
    partitions = number * size + (lanes - 1 if pairs else 0)
    counts = popular(partitions, seed, 1.0)
    groups = [tuple(each.tolist()) for each in np.array_split(rng.permutation(partitions), number)]
    after = evened(groups, rounds, counts, rng)
    assert sorted(k for group in after for k in group) == list(range(partitions))
    assert [len(group) for group in after] == [len(group) for group in groups]

    def slowest(groups):
        def edges(match):
            return sum(counts[np.ix_(groups[a], groups[b])].sum() for a in match for b in match if a != b)

        return sum(max(edges(match) for match in matches) for matches in rounds)

    assert slowest(after) <= slowest(groups)
    match_of = filled(after, rounds, counts, rng)
    matches = [match for each in rounds for match in each]
    for group, members in enumerate(after):
        inside = match_of[np.ix_(members, members)]
        assert all(group in matches[number] for number in inside.ravel())
        match_of[np.ix_(members, members)] = -1
    assert (match_of == -1).all()


def test_equal_partitions_are_dealt_by_chance():
    counts = np.full((16, 16), 7, np.int64)
    dealt = {
        tuple(sorted(step.resident for step in make_lanes_plan(4, counts, 16, seed, epoch).steps if step.round == 0))
        for seed in range(5)
        for epoch in (1, 2)
    }
    assert len(dealt) == 10
