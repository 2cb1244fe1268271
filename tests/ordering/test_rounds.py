"""Each two groups meet once, and a run begins with one match."""

from collections import Counter
from itertools import combinations

import pytest

from marius_lite.ordering.rounds import from_one, has_plane, plane, tournament

ORDERS = (2, 3, 4, 5, 7, 8, 11, 13, 16)
WAYS = [*((lanes, plane) for lanes in ORDERS), *((2 * lanes, tournament) for lanes in (2, 3, 6, 32))]


def each_two_once(rounds, groups):
    met = Counter(frozenset(two) for matches in rounds for match in matches for two in combinations(match, 2))
    return met == Counter(map(frozenset, combinations(range(groups), 2)))


@pytest.mark.parametrize(("size", "make"), WAYS)
def test_each_two_groups_meet_once_and_all_play_each_round(size, make):
    rounds, groups = make(size), size**2 if make is plane else size
    assert each_two_once(rounds, groups)
    assert all(sorted(group for match in matches for group in match) == list(range(groups)) for matches in rounds)


@pytest.mark.parametrize("order", ORDERS)
def test_in_a_plane_each_line_has_one_group_of_each_line_of_another_round(order):
    lines = [(t, {*line}) for t, matches in enumerate(plane(order)) for line in matches]
    assert all(len(a & b) == (s != t) for (s, a), (t, b) in combinations(lines, 2))


@pytest.mark.parametrize(("size", "make"), WAYS)
def test_a_run_begins_with_one_match_and_others_join_what_is_trained(size, make):
    rounds, lanes = make(size), size if make is plane else size // 2
    begun = from_one(rounds, lanes)
    assert each_two_once(begun, size**2 if make is plane else size)
    trained = {*begun[0][0]}
    assert len(begun[0]) == 1
    for matches in begun[1:]:
        taken = [group for match in matches for group in match]
        assert len(matches) <= lanes
        assert len(taken) == len({*taken})
        assert all(trained & {*match} for match in matches)
        trained |= {*taken}
    assert len(begun) <= (len(rounds) + 1 if make is plane else len(rounds) + len(rounds) // 2)


@pytest.mark.parametrize(("lanes", "partitions", "found"), [(4, 16, True), (4, 32, True), (4, 20, False), (6, 36, False)])
def test_a_plane_needs_a_field_and_groups_of_one_size(lanes, partitions, found):
    assert has_plane(lanes, partitions) == found
