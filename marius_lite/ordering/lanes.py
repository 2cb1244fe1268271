"""Make the plan of an epoch for several lanes, which train at the same time. No two of them ever have a partition in common.

Each epoch deals the partitions into groups. In each round every lane trains the edges between the groups of a match, so that each
two groups meet once in the epoch (`ordering.rounds`). From round to round each lane keeps one of its groups. The edges inside a
group are trained in any of its matches. Groups and matches are such that the lanes of a round have nearly as many edges, for they
wait for each other (`ordering.dealing`). In the first epoch of a run only one lane trains at first: all rows must come to mean
the same. Where a match does not fit a lane's buffer, an ordering for one lane takes its partitions in turn.

A plan depends on (lanes, edges of each bucket, capacity, seed, epoch) alone. Whoever trains a lane, and with how many others,
comes to the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby

import numpy as np
import numpy.typing as npt

from marius_lite.ordering.comet import COMET
from marius_lite.ordering.dealing import evened, filled
from marius_lite.ordering.in_memory import IN_MEMORY
from marius_lite.ordering.rounds import Match, from_one, has_plane, plane, shared_out, tournament
from marius_lite.seeds import generator_for
from marius_lite.types import EpochPlan, Step

LANES, EVEN_LANES, LANES_BY_EDGES = "lanes", "even_lanes", "lanes_by_edges"
"""The names of this ordering in plans and records. Older runs have the first two: they deal partitions whatever their edges. In
lanes a group's own edges are in any match, in even_lanes those of as many groups are in each match of a round."""
LANE_ORDERINGS = (LANES, EVEN_LANES, LANES_BY_EDGES)
Bucket = tuple[int, int]


def make_lanes_plan(
    lanes: int, counts: npt.NDArray[np.int64], capacity: int, run_seed: int, epoch: int, ordering: str = LANES_BY_EDGES
) -> EpochPlan:
    """Make the plan of one epoch, for two lanes or more.

    ``counts``: the edges of each bucket, (p, p) int64. There must be two partitions for each lane. ``capacity``: partitions that
    each lane has resident at a time, 2 or more. ``ordering``: one of `LANE_ORDERINGS`. Steps come round after round, in each lane
    after lane.
    """
    partitions = len(counts)
    rng = generator_for(run_seed, "ordering/lanes", epoch)
    whole = has_plane(lanes, partitions)
    number = lanes**2 if whole else 2 * lanes
    groups = [tuple(int(k) for k in each) for each in np.array_split(rng.permutation(partitions), number)]
    drawn = plane(lanes) if whole else tournament(number)
    rounds = [drawn[t] for t in rng.permutation(len(drawn))]
    by_lane = from_one(rounds, lanes) if epoch == 0 else rounds if whole else _keeping_one_each(rounds)
    number_of = {match: place for place, match in enumerate(chain(*by_lane))}
    if ordering == LANES_BY_EDGES:
        groups = evened(groups, by_lane, counts, rng)
        match_of = filled(groups, by_lane, counts, rng)
    else:
        own_match = shared_out(rounds, not whole) if ordering == EVEN_LANES else _in_any(rounds, number, rng)
        match_of = _by_group(groups, {group: number_of[match] for group, match in own_match.items()}, partitions)
    steps: list[Step] = []
    resident: list[frozenset[int]] = [frozenset()] * lanes
    for t, matches in enumerate(by_lane):
        for lane, match in enumerate(matches):
            own = match_of == number_of[match]
            for state, buckets in _turns([groups[group] for group in match], own, capacity, rng):
                old, resident[lane] = resident[lane], frozenset(state)
                load, evict = sorted(resident[lane] - old), sorted(old - resident[lane])
                steps.append(Step(len(steps), tuple(sorted(state)), tuple(load), tuple(evict), buckets, (), lane, t))
        resident[len(matches) :] = [frozenset()] * (lanes - len(matches))  # without a match a lane gives all up
    return EpochPlan(ordering, partitions, capacity, epoch, tuple(steps))


def _by_group(groups: Sequence[Sequence[int]], own_match: Mapping[int, int], partitions: int) -> npt.NDArray[np.int64]:
    """Return the match of each bucket inside a group as `filled` does, where all buckets of a group have one."""
    match_of = np.full((partitions, partitions), -1, np.int64)
    for group, match in own_match.items():
        match_of[np.ix_(groups[group], groups[group])] = match
    return match_of


def _in_any(rounds: Sequence[Sequence[Match]], groups: int, rng: np.random.Generator) -> dict[int, Match]:
    """Return any match for each group."""
    matches_of = [[match for matches in rounds for match in matches if group in match] for group in range(groups)]
    return {group: matches[rng.integers(len(matches))] for group, matches in enumerate(matches_of)}


def in_each_lane(plan: EpochPlan, lanes: int) -> EpochPlan:
    """Return a plan of one step as that of several lanes: all see the same partitions, and share what is trained."""
    (step,) = plan.steps
    return replace(plan, steps=tuple(replace(step, index=lane, lane=lane) for lane in range(lanes)))


def rounds_of(plan: EpochPlan, lanes: int) -> list[list[list[Step]]]:
    """Return the steps of each lane, in each round."""
    rounds = [list(steps) for _, steps in groupby(plan.steps, lambda step: step.round)]
    return [[[step for step in steps if step.lane == lane] for lane in range(lanes)] for steps in rounds]


def kept(resident: Iterable[int], following: Iterable[Step]) -> list[int]:
    """Return which of a lane's ``resident`` partitions are its in the ``following`` round too, so that they stay."""
    return sorted({k for step in following for k in step.resident}.intersection(resident))


def most_in_match(lanes: int, partitions: int) -> int:
    """Return how many partitions the largest match has: two groups of a tournament. In a plane it has as many."""
    smaller, larger = divmod(partitions, 2 * lanes)
    return 2 * smaller + min(2, larger)


def spare_slots_of_lane(lanes: int, partitions: int, capacity: int) -> int:
    """Return how many slots a lane has beyond its capacity, for what it loads ahead inside a match.

    These are those that COMET needs. Where turns without buckets are passed over, a load may be larger: then a part of it waits.
    """
    sizes = range(2 * (partitions // (2 * lanes)), most_in_match(lanes, partitions) + 1)
    return max((COMET.most_loaded(size, capacity) for size in sizes if size > capacity), default=0)


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


def _keeping_one_each(rounds: Sequence[Sequence[Match]]) -> list[Sequence[Match]]:
    """Return the rounds of a tournament with their matches by lane."""
    result = [rounds[0]]
    for matches in rounds[1:]:
        result.append(keeping_one(result[-1], matches))
    return result


def _turns(
    groups: Sequence[Sequence[int]], own: npt.NDArray[np.bool_], capacity: int, rng: np.random.Generator
) -> Iterator[tuple[tuple[int, ...], tuple[Bucket, ...]]]:
    """Yield what is resident in a match, turn by turn, with the buckets that are trained then.

    ``own``: which buckets inside groups are, of all, (p, p). There is at least one turn: a lane must not keep partitions that
    others train.
    """
    members, group_of = np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    ordering = IN_MEMORY if len(members) <= capacity else COMET
    schedule = ordering.order(len(members), min(capacity, len(members)), rng)
    ends = group_of[schedule.buckets]
    trained = (ends[:, 0] != ends[:, 1]) | own[tuple(members[schedule.buckets].T)]
    shuffled = rng.permutation(np.flatnonzero(trained))
    for turn, state in enumerate(schedule.residents):
        chosen = members[schedule.buckets[shuffled[schedule.step_of[shuffled] == turn]]]
        if len(chosen) or len(schedule.residents) == 1:
            yield tuple(members[list(state)].tolist()), tuple((source, destination) for source, destination in chosen.tolist())
