"""Make the plan of an epoch for several lanes, which train at the same time. No two of them ever have a partition in common.

Each epoch deals the partitions into twice as many groups as there are lanes. The groups play a round-robin tournament: in each
round every lane trains the edges between two groups, so that each two groups meet once. From round to round each lane keeps one
of its groups. The edges inside a group are trained in one round of the epoch, the same for all groups. Where two groups do not
fit a lane's buffer, an ordering for one lane takes their partitions in turn.

A plan depends on (lanes, partitions, capacity, seed, epoch) alone. Whoever trains a lane, and with how many others, comes to the
same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from marius_lite.ordering.comet import COMET
from marius_lite.ordering.in_memory import IN_MEMORY
from marius_lite.seeds import generator_for
from marius_lite.types import EpochPlan, Step

LANES = "lanes"
"""The name of this ordering in plans and records."""
Match = tuple[int, int]
Bucket = tuple[int, int]


def make_lanes_plan(lanes: int, partitions: int, capacity: int, run_seed: int, epoch: int) -> EpochPlan:
    """Make the plan of one epoch, for two lanes or more. ``capacity``: partitions that each lane has resident at a time.

    Steps come round after round, in each lane after lane. There must be two partitions for each lane, and a capacity of 2.
    """
    rng = generator_for(run_seed, "ordering/lanes", epoch)
    groups = [tuple(int(k) for k in each) for each in np.array_split(rng.permutation(partitions), 2 * lanes)]
    rounds = [tournament(2 * lanes)[t] for t in rng.permutation(2 * lanes - 1)]
    own_round = int(rng.integers(len(rounds)))
    steps: list[Step] = []
    before: Sequence[Match] = ()
    resident: list[frozenset[int]] = [frozenset()] * lanes
    for t, matches in enumerate(rounds):
        before = keeping_one(before, matches) if before else matches
        for lane, match in enumerate(before):
            pair = groups[match[0]], groups[match[1]]
            for state, buckets in _turns(pair, capacity, t == own_round, rng):
                old, resident[lane] = resident[lane], frozenset(state)
                load, evict = sorted(resident[lane] - old), sorted(old - resident[lane])
                steps.append(Step(len(steps), tuple(sorted(state)), tuple(load), tuple(evict), buckets, (), lane, t))
    return EpochPlan(LANES, partitions, capacity, epoch, tuple(steps))


def rounds_of(plan: EpochPlan, lanes: int) -> list[list[list[Step]]]:
    """Return the steps of each lane, in each round."""
    rounds = [list(steps) for _, steps in groupby(plan.steps, lambda step: step.round)]
    return [[[step for step in steps if step.lane == lane] for lane in range(lanes)] for steps in rounds]


def kept(resident: Iterable[int], following: Iterable[Step]) -> list[int]:
    """Return which of a lane's ``resident`` partitions are its in the ``following`` round too, so that they stay."""
    return sorted({k for step in following for k in step.resident}.intersection(resident))


def most_in_match(lanes: int, partitions: int) -> int:
    """Return how many partitions the largest two groups have."""
    smaller, larger = divmod(partitions, 2 * lanes)
    return 2 * smaller + min(2, larger)


def spare_slots_of_lane(lanes: int, partitions: int, capacity: int) -> int:
    """Return how many slots a lane has beyond its capacity, for what it loads ahead inside a match.

    These are those that COMET needs. Where turns without buckets are passed over, a load may be larger: then a part of it waits.
    """
    sizes = range(2 * (partitions // (2 * lanes)), most_in_match(lanes, partitions) + 1)
    return max((COMET.most_loaded(size, capacity) for size in sizes if size > capacity), default=0)


def tournament(groups: int) -> list[list[Match]]:
    """Return the rounds of a tournament in which each two of an even number of groups meet once (the circle method)."""
    others = groups - 1
    return [[(others, t), *(((t + i) % others, (t - i) % others) for i in range(1, groups // 2))] for t in range(others)]


def keeping_one(before: Sequence[Match], matches: Sequence[Match]) -> list[Match]:
    """Return the next round's ``matches``, by lane, so that each lane keeps one of its two groups. ``before``: its groups now.

    Each match shares a group with two lanes, and each lane a group with two matches. So lanes and matches form rings. Around a
    ring every lane hands its second group on and takes the match of its first.
    """
    match_of = {group: match for match in matches for group in match}
    lane_of = {group: lane for lane, pair in enumerate(before) for group in pair}
    taken: dict[int, Match] = {}
    for start in range(len(before)):
        lane, kept = start, before[start][0]
        while lane not in taken:
            taken[lane] = match = match_of[kept]
            comes = match[1] if match[0] == kept else match[0]
            lane = lane_of[comes]
            kept = before[lane][1] if before[lane][0] == comes else before[lane][0]
    return [taken[lane] for lane in range(len(before))]


def _turns(
    pair: tuple[tuple[int, ...], tuple[int, ...]], capacity: int, own: bool, rng: np.random.Generator
) -> Iterator[tuple[tuple[int, ...], tuple[Bucket, ...]]]:
    """Yield what is resident in a match, turn by turn, with the buckets that are trained then. ``own``: those inside a group too.

    There is at least one turn: a lane must not keep partitions that others train.
    """
    members = np.array([*pair[0], *pair[1]])
    first = np.arange(len(members)) < len(pair[0])
    ordering = IN_MEMORY if len(members) <= capacity else COMET
    schedule = ordering.order(len(members), min(capacity, len(members)), rng)
    trained = own | (first[schedule.buckets[:, 0]] != first[schedule.buckets[:, 1]])
    shuffled = rng.permutation(np.flatnonzero(trained))
    for turn, state in enumerate(schedule.residents):
        chosen = members[schedule.buckets[shuffled[schedule.step_of[shuffled] == turn]]]
        if len(chosen) or len(schedule.residents) == 1:
            yield tuple(members[list(state)].tolist()), tuple((source, destination) for source, destination in chosen.tolist())
