"""Which groups of partitions meet, round after round, so that each two of them meet once in an epoch.

There are two ways. In a *plane* there are lanes * lanes groups: a round is a class of parallel lines of the affine plane over a
field, and a match is a line, with as many groups as there are lanes. Where the field or the partitions for it are missing,
there are 2 * lanes groups, which play a *tournament* in pairs. A match has as many partitions either way, and an epoch reads as
much. In a plane a node has edges to more groups at once, which makes models better.
"""

from __future__ import annotations

from collections.abc import Sequence

Match = tuple[int, ...]
POLYNOMIALS = {4: 0b111, 8: 0b1011, 16: 0b10011}
"""Irreducible polynomials over GF(2), as bits: they make fields of so many elements."""
PRIMES = (2, 3, 5, 7, 11, 13)


def has_field(lanes: int) -> bool:
    """Return whether there is a field here of so many elements."""
    return lanes in PRIMES or lanes in POLYNOMIALS


def has_plane(lanes: int, partitions: int) -> bool:
    """Return whether the groups make a plane: where there is a field, and all groups are alike."""
    return has_field(lanes) and partitions % lanes**2 == 0


def plane(order: int) -> list[list[Match]]:
    """Return the classes of parallel lines of an affine plane. Its order**2 points are groups: point (x, y) is order * x + y."""
    points = range(order)
    sloping = [
        [tuple(order * x + _sum(_product(slope, x, order), shift, order) for x in points) for shift in points] for slope in points
    ]
    return [*sloping, [tuple(order * x + y for y in points) for x in points]]


def tournament(groups: int) -> list[list[Match]]:
    """Return the rounds of a tournament in which each two of an even number of groups meet once (the circle method)."""
    others = groups - 1
    return [[(others, t), *(((t + i) % others, (t - i) % others) for i in range(1, groups // 2))] for t in range(others)]


def shared_out(rounds: Sequence[Sequence[Match]], in_pairs: bool) -> dict[int, Match]:
    """Return a match for each group, one that it is in, so that the matches of a round have equally many of these groups.

    ``rounds``: of a tournament (``in_pairs``), of which the first two have all, or of a plane, of which the last has none.
    """
    return _shared_by_two(*rounds[:2]) if in_pairs else _shared_by_lines(rounds[:-1], rounds[-1])


def _shared_by_lines(rounds: Sequence[Sequence[Match]], lines: Sequence[Match]) -> dict[int, Match]:
    """Each of the ``lines`` of another class has one point of each match of a round. So a line's points are a round's share."""
    return {
        group: match for line, matches in zip(lines, rounds, strict=True) for match in matches for group in match if group in line
    }


def _shared_by_two(first: Sequence[Match], second: Sequence[Match]) -> dict[int, Match]:
    """The pairs of two rounds make rings of even length. Around a ring the groups are for one round and the other in turn."""
    partner = [{a: b for match in pairs for a, b in (match, match[::-1])} for pairs in (first, second)]
    match_of: dict[int, Match] = {}
    for start in partner[0]:
        group = start
        while group not in match_of:
            other = partner[0][group]
            match_of[group] = next(match for match in first if group in match)
            match_of[other] = next(match for match in second if other in match)
            group = partner[1][other]
    return match_of


def from_one(rounds: Sequence[Sequence[Match]], lanes: int) -> list[list[Match]]:
    """Return the matches in rounds of other sizes: one match first, then only such as have a group that was trained before.

    Rows that are trained apart from the beginning come to mean different things by the same numbers, and it takes them epochs to
    agree. PyTorch-BigGraph (Lerer et al., SysML 2019, section 4.2) begins in this way for the same reason.
    """
    first, *left = [match for matches in rounds for match in matches]
    result, trained = [[first]], set(first)
    while left:
        chosen: list[Match] = []
        busy: set[int] = set()
        for match in left:
            if len(chosen) < lanes and trained.intersection(match) and not busy.intersection(match):
                chosen.append(match)
                busy.update(match)
        left = [match for match in left if match not in chosen]
        trained |= busy
        result.append(chosen)
    return result


def _sum(a: int, b: int, order: int) -> int:
    return a ^ b if order in POLYNOMIALS else (a + b) % order


def _product(a: int, b: int, order: int) -> int:
    if order not in POLYNOMIALS:
        return a * b % order
    product = 0
    while b:
        product ^= a * (b & 1)
        a, b = a << 1, b >> 1
        a ^= POLYNOMIALS[order] * (a >= order)
    return product
