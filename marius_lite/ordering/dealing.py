"""Deal partitions into groups, and share out what is inside a group, so that the lanes of a round have nearly as many edges.

Lanes wait for the slowest of a round. The edges between two groups have one match, in which both are. So partitions change
places while that makes the slowest lanes of all rounds have fewer edges together. The edges inside a group may be trained in any
match of it, bucket by bucket: they fill what is left of each round, the largest first (Graham 1969). Where a group of a plane is
one partition, a part of the difference stays: each two partitions meet once, so that by how much lines have more edges than the
mean, or fewer, squared, has one sum, whatever the order.

Counts are whole numbers, so that every machine comes to the same order. Chance decides where nothing else does: it draws the
groups to begin with, and the changes that are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt

from marius_lite.ordering.rounds import Match

TRIES, AT_ONCE = 40, 32
"""How often the best of so many changes is made, where it is one for the better."""
Counts = npt.NDArray[np.int64]
Groups = Sequence[Sequence[int]]


def evened(groups: Groups, rounds: Sequence[Sequence[Match]], counts: Counts, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return groups of the same sizes, in which partitions have changed places.

    ``counts``: the edges of each bucket, (p, p) int64. It is enough where the edges inside groups can fill the rest.
    """
    both, partitions = counts + counts.T, len(counts)
    group_of = _group_of(groups, partitions)
    among = np.stack([both[:, list(group)].sum(1) for group in groups], 1)  # edges of a partition with each group
    within = _within(rounds, len(groups))
    loads, first = _between_groups(groups, rounds, counts), _first(rounds)
    cost = _of_slowest(loads, first)
    enough = int(counts.sum()) // max(map(len, rounds))
    one_each = np.arange(AT_ONCE)
    for _ in range(TRIES):
        if cost <= enough:
            break
        x, y = rng.integers(partitions, size=(2, AT_ONCE))
        a, b = group_of[x], group_of[y]
        gained = among[y] - among[x]  # what a has more with each group, and b less, if x and y change places
        in_match = gained @ within
        has_a, has_b = within[a], within[b]
        change = has_a * (1 - has_b) * (in_match - gained[one_each, a][:, None])
        change -= has_b * (1 - has_a) * (in_match - gained[one_each, b][:, None])
        each_other = among[x, a] + among[y, b] - among[x, b] - among[y, a] + 2 * both[x, y] - both[x, x] - both[y, y]
        change += has_a * has_b * each_other[:, None]
        change[a == b] = 0
        costs = _of_slowest(loads + change, first)
        best = int(np.argmin(costs))
        if costs[best] < cost:
            cost, loads = costs[best], loads + change[best]
            moved = both[:, y[best]] - both[:, x[best]]
            among[:, a[best]] += moved
            among[:, b[best]] -= moved
            group_of[x[best]], group_of[y[best]] = b[best], a[best]
    return [tuple(np.flatnonzero(group_of == group).tolist()) for group in range(len(groups))]


def filled(groups: Groups, rounds: Sequence[Sequence[Match]], counts: Counts, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the match of each bucket inside a group: which of all ``rounds``' matches it is; -1 for other buckets, (p, p) int64.

    Each goes where it makes a round's slowest lane least slower, and then where most is missing.
    """
    group_of = _group_of(groups, len(counts))
    loads = _between_groups(groups, rounds, counts)
    round_of = np.repeat(np.arange(len(rounds)), [len(matches) for matches in rounds])
    slowest = np.maximum.reduceat(loads, _first(rounds))
    matches_of = [np.flatnonzero(each) for each in _within(rounds, len(groups))]
    own = np.argwhere(group_of[:, None] == group_of)
    own = own[rng.permutation(len(own))]
    match_of = np.full(counts.shape, -1, np.int64)
    for i, j in own[np.argsort(-counts[own[:, 0], own[:, 1]], kind="stable")].tolist():
        places = matches_of[group_of[i]]
        missing = slowest[round_of[places]] - loads[places]
        slower = np.maximum(counts[i, j] - missing, 0)
        place = places[np.lexsort((-missing, slower))[0]]
        loads[place] += counts[i, j]
        slowest[round_of[place]] = max(slowest[round_of[place]], loads[place])
        match_of[i, j] = place
    return match_of


def _group_of(groups: Groups, partitions: int) -> npt.NDArray[np.int64]:
    """Return the group of each partition."""
    group_of = np.empty(partitions, np.int64)
    for group, members in enumerate(groups):
        group_of[list(members)] = group
    return group_of


def _within(rounds: Sequence[Sequence[Match]], groups: int) -> npt.NDArray[np.int64]:
    """Return whether (1 or 0) each group is in each of all matches, (groups, matches) int64."""
    matches = list(chain(*rounds))
    within = np.zeros((groups, len(matches)), np.int64)
    for number, match in enumerate(matches):
        within[list(match), number] = 1
    return within


def _between_groups(groups: Groups, rounds: Sequence[Sequence[Match]], counts: Counts) -> npt.NDArray[np.int64]:
    """Return how many edges each match has between two of its groups."""
    starts = [0, *accumulate(len(group) for group in groups)][:-1]
    order = np.concatenate([np.asarray(group) for group in groups])
    between = np.add.reduceat(np.add.reduceat(counts[np.ix_(order, order)], starts, 0), starts, 1)
    np.fill_diagonal(between, 0)
    within = _within(rounds, len(groups))
    loads: npt.NDArray[np.int64] = ((between @ within) * within).sum(0)
    return loads


def _first(rounds: Sequence[Sequence[Match]]) -> list[int]:
    """Return which of all matches is the first of each round."""
    return [0, *accumulate(len(matches) for matches in rounds)][:-1]


def _of_slowest(loads: npt.NDArray[np.int64], first: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return how many edges the slowest lanes of all rounds have together. ``loads``: of each match, in the last axis."""
    slowest: npt.NDArray[np.int64] = np.maximum.reduceat(loads, first, axis=-1).sum(-1)
    return slowest
