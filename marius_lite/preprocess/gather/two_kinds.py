"""Whether sources and destinations look like things of two kinds that count from 1 each, such as users and items.

Where ids are numbers, user 7 and item 7 are one node, and nothing fails. Two signs show it. The columns' titles are the ids of
different things: user_id and item_id. And edges from a node to itself, which mean nothing there, are as many as chance makes: the
sum of (edges out of a node x edges into it) / edges. In graphs of one kind there are none, or more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from marius_lite.printable import printable

ENOUGH = 10  # edges from a node to itself, by chance, from which on their number tells
DEVIATIONS, SHARE = 3, 0.25  # of that number, that it may be off
ONE_SIDED = 0.05  # of the nodes, that have edges of one direction only: in random graphs of one kind few have
TITLE = re.compile(r"(?P<of>.*?)[ _.-]?ids?", re.IGNORECASE)
PERSON = {"user", "customer", "member", "reader", "buyer", "viewer", "patient", "student", "author", "borrower"}
ONE_KIND = {"", "node", "vertex", "entity", "source", "target", "destination", "src", "dst", "from", "to", "head", "tail"}


def two_kinds_lines(titles: Sequence[str], nodes: int, both: int, loops: int, by_chance: float) -> list[str]:
    """Return a line where edges look like that. ``titles``: of the columns of sources and destinations, or none. ``both``: nodes
    that have edges out and in. ``loops``: edges from a node to itself; ``by_chance``: as many as chance makes."""
    enough = by_chance >= ENOUGH
    as_chance = abs(loops - by_chance) <= DEVIATIONS * math.sqrt(by_chance) + SHARE * by_chance
    named = _kinds(titles)
    sure = enough and as_chance and nodes - both > ONE_SIDED * nodes
    if not both or not (sure or (named and (as_chance or not enough))):
        return []
    columns = f"{printable(titles[0])} and {printable(titles[1])}" if len(titles) > 1 else "sources and destinations"
    chance = f", and {loops:,} edges lead from a node to itself, as many as chance makes of two kinds" if enough else ""
    return [
        f"{columns}: {both:,} of {nodes:,} ids are both, and each of these is one node{chance}: if these are two kinds of things "
        f"(such as users and items), tell them apart with --bipartite {','.join(named or ('user', 'item'))}"
    ]


def _kinds(titles: Sequence[str]) -> tuple[str, str] | None:
    """Return the names of two kinds of things whose ids columns with these titles hold; None where they may be of one kind."""
    of = [_thing(title) for title in titles[:2]]
    if len(of) < 2 or any(not name.isidentifier() or name in ONE_KIND for name in of):
        return None
    if of[0].startswith(of[1]) or of[1].startswith(of[0]):  # user and user_2
        return None
    return (of[0], of[1]) if all(TITLE.fullmatch(title) for title in titles[:2]) or of[0] in PERSON else None


def _thing(title: str) -> str:
    matched = TITLE.fullmatch(title)
    return (matched["of"] if matched else title).strip().lower()
