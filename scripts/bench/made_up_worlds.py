"""More graphs of links for `made_up.py`, as people have them: rules, types, shops, maps. Each is a function of (seed)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from made_up_graphs import Links, dealt, drawn, in_group

Array = npt.NDArray[Any]


def renamed(rows: Array, nodes: int, rng: np.random.Generator) -> Array:
    """Edges (source, relation, destination) with raw ids drawn anew."""
    called, result = rng.permutation(nodes), rows.copy()
    result[:, 0], result[:, 2] = called[rows[:, 0]], called[rows[:, 2]]
    return result


def families(seed: int, count: int = 300) -> Links:
    """Three generations: parents, children, spouses, siblings, grandparents, uncles. Nearly every edge follows from others."""
    rng = np.random.default_rng(seed)
    parent, child, spouse, sibling, grand, uncle = range(6)
    rows: list[tuple[int, int, int]] = []
    people = 0

    def come(number: int) -> list[int]:
        nonlocal people
        people += number
        return list(range(people - number, people))

    def marry(one: int, other: int) -> None:
        rows.extend([(one, spouse, other), (other, spouse, one)])

    def bear(parents: Sequence[int], children: Sequence[int]) -> None:
        for each in children:
            rows.extend(edge for p in parents for edge in ((p, parent, each), (each, child, p)))
            rows.extend((each, sibling, other) for other in children if other != each)

    for _ in range(count):
        founders = come(2)
        children = come(int(rng.integers(2, 5)))
        marry(*founders)
        bear(founders, children)
        for each in children:
            (partner,) = come(1)
            marry(each, partner)
            born = come(int(rng.integers(0, 4)))
            bear([each, partner], born)
            for one in born:
                rows.extend((founder, grand, one) for founder in founders)
                rows.extend((other, uncle, one) for other in children if other != each)
    return Links(people, 6, dealt(renamed(np.array(rows), people, rng), rng))


def world(seed: int, people: int = 1500, cities: int = 150, countries: int = 20, firms: int = 150, films: int = 200) -> Links:
    """Nodes of five types, nine relations from type to type, many to one; a person's country follows from the city of birth."""
    rng = np.random.default_rng(seed)
    sizes = [people, cities, countries, firms, films]
    person, city, country, firm, film = np.split(rng.permutation(sum(sizes)), np.cumsum(sizes[:-1]))
    of_city = drawn(1 / np.arange(1, countries + 1), cities, rng)
    large = 1 / np.arange(1, cities + 1)
    born = drawn(large, people, rng)
    lives = np.where(rng.random(people) < 0.6, born, drawn(large, people, rng))
    seat = drawn(large, firms, rng)
    rows = [(city, 0, country[of_city]), (person, 1, city[born]), (person, 2, country[of_city[born]]), (person, 3, city[lives])]
    rows.append((firm, 4, city[seat]))
    there = [np.flatnonzero(seat == c) for c in range(cities)]
    works = np.array(
        [there[c][rng.integers(len(there[c]))] if len(there[c]) and rng.random() < 0.8 else rng.integers(firms) for c in lives]
    )
    rows.append((person, 5, firm[works]))
    one = rng.integers(people, size=4 * people)
    by_firm, counts = np.argsort(works, kind="stable"), np.bincount(works, minlength=firms)
    first = np.searchsorted(works[by_firm], np.arange(firms))
    other = by_firm[first[works[one]] + (rng.random(len(one)) * counts[works[one]]).astype(int)]
    one, other = person[one[one != other]], person[other[one != other]]
    rows += [(one, 6, other), (other, 6, one)]
    taste, genre = rng.integers(10, size=people), rng.integers(10, size=films)
    kinds = [np.flatnonzero(genre == g) for g in range(10)]
    who = rng.integers(people, size=4 * people)
    liked = np.array([kinds[t][drawn(1 / np.arange(1, len(kinds[t]) + 1), 1, rng)[0]] for t in taste[who]])
    rows += [(person[who], 7, film[liked]), (country, 8, np.roll(country, -1)), (np.roll(country, -1), 8, country)]
    edges = np.concatenate([np.stack([a, np.full(len(a), r), b], 1) for a, r, b in rows])
    return Links(sum(sizes), 9, dealt(edges, rng))


def lopsided(seed: int, nodes: int = 2000, groups: int = 100, edges: int = 25_000, rare: int = 500) -> Links:
    """99 of 100 edges have one relation, the others one of 500. Each leads from groups of 20 to groups."""
    rng = np.random.default_rng(seed)
    members = rng.permutation(nodes).reshape(groups, -1)
    of = np.empty(nodes, int)
    of[members] = np.arange(groups)[:, None]
    maps = np.stack([rng.permutation(groups) for _ in range(rare + 1)])
    relation = np.where(rng.random(edges) < 0.99, 0, rng.integers(1, rare + 1, size=edges))
    source = rng.integers(nodes, size=edges)
    rows = np.stack([source, relation, in_group(members, maps[relation, of[source]], rng)], 1)

    def oracle(known: Array, asked: Array, forward: bool) -> Array:
        group = maps[asked, of[known]] if forward else np.argsort(maps, 1)[asked, of[known]]
        return (of[None] == group[:, None]).astype(float)

    return Links(nodes, rare + 1, dealt(rows, rng), oracle)


def taxonomy(seed: int, nodes: int = 4000) -> Links:
    """A tree of kinds, likeness of neighbours in it, both ways, and the third node above: few edges a node."""
    rng = np.random.default_rng(seed)
    above = np.array([0] + [int(k * rng.random() ** 1.5) for k in range(1, nodes)])
    parts = [np.stack([np.arange(1, nodes), np.zeros(nodes - 1, int), above[1:]], 1)]
    order = np.argsort(above, kind="stable")
    alike = np.stack([order[:-1], order[1:]], 1)
    alike = alike[above[alike[:, 0]] == above[alike[:, 1]]]
    parts += [np.insert(alike, 1, 1, 1), np.insert(alike[:, ::-1], 1, 1, 1)]
    third = np.stack([np.arange(nodes), np.full(nodes, 2), above[above[above]]], 1)
    parts.append(third[rng.random(nodes) < 0.6])
    edges = np.concatenate(parts)
    return Links(nodes, 3, dealt(renamed(edges[edges[:, 0] != edges[:, 2]], nodes, rng), rng))


def shop(seed: int, users: int = 4000, items: int = 1500, edges: int = 60_000) -> Links:
    """Users and items of 40 tastes. Each user has three; a quarter of the items follow popularity alone, a power law."""
    rng = np.random.default_rng(seed)
    tastes = 40
    of = rng.integers(tastes, size=items)
    popular = (1 - rng.random(items)) ** (-1 / 1.2)
    kinds = [np.flatnonzero(of == taste) for taste in range(tastes)]
    active = (1 - rng.random(users)) ** (-1 / 1.5)
    has = rng.integers(tastes, size=(users, 3))
    source = drawn(active, edges, rng)
    taste = has[source, rng.integers(3, size=edges)]
    near = np.array([kinds[t][drawn(popular[kinds[t]], 1, rng)[0]] for t in taste])
    item = np.where(rng.random(edges) < 0.75, near, drawn(popular, edges, rng))
    called = rng.permutation(users + items)
    return Links(users + items, 1, dealt(np.stack([called[source], 0 * source, called[users + item]], 1), rng))


def places(seed: int, nodes: int = 5000, near: int = 6) -> Links:
    """Places on a plane, half of them in 20 towns, linked to most of those nearest to them."""
    rng = np.random.default_rng(seed)
    wide = rng.random((nodes // 2, 2))
    towns = rng.normal(rng.random((20, 1, 2)), 0.03, (20, nodes // 40, 2))
    at = np.concatenate([wide, towns.reshape(-1, 2)])
    nearest = np.stack([np.argsort(((at - each) ** 2).sum(1))[1 : near + 1] for each in at])
    pairs = np.stack([np.repeat(np.arange(len(at)), near), nearest.ravel()], 1)
    pairs = np.unique(np.sort(pairs[rng.random(len(pairs)) < 0.7], 1), axis=0)
    called = rng.permutation(len(at))
    return Links(len(at), 1, dealt(np.insert(called[pairs], 1, 0, axis=1), rng), options=["--undirected"])


def baskets(seed: int, items: int = 6000, groups: int = 400, count: int = 9000) -> Links:
    """Items bought together: each basket has some items of a group, popular ones before others, and any one; all are linked."""
    rng = np.random.default_rng(seed)
    popular = (1 - rng.random(items)) ** (-1 / 1.8)
    group = drawn(1 / np.arange(1, groups + 1) ** 0.6, items, rng)
    members = [np.flatnonzero(group == g) for g in range(groups)]
    rows = []
    for _ in range(count):
        first = drawn(popular, 1, rng)[0]
        inside = members[group[first]]
        others = inside[drawn(popular[inside], rng.integers(1, 4), rng)]
        basket = np.unique([*others, first, *drawn(popular, 1, rng)])
        rows += [(one, 0, other) for place, one in enumerate(basket) for other in basket[:place]]
    return Links(items, 1, dealt(np.array(rows), rng), options=["--undirected"])


def growing(seed: int, nodes: int = 4000, each: int = 4, arrived: int = 3300) -> Links:
    """People who come, link to somebody and then to friends of friends, as others do. Splits are by time."""
    rng = np.random.default_rng(seed)
    near: list[list[int]] = [[] for _ in range(nodes)]
    rows, ends = [], [0, 1]

    def link(one: int, other: int) -> None:
        if one != other and other not in near[one]:
            near[one].append(other)
            near[other].append(one)
            rows.append((one, 0, other))
            ends.extend((one, other))

    link(0, 1)
    for node in range(2, nodes):
        new = node < arrived or rng.random() < 0.1
        if new:
            link(node, ends[rng.integers(len(ends))])
        for _ in range(each if node < arrived else 4 * each):
            one = node if new and rng.random() < 0.4 else ends[rng.integers(len(ends))]
            if near[one]:
                friend = near[one][rng.integers(len(near[one]))]
                link(one, near[friend][rng.integers(len(near[friend]))])
    edges = renamed(np.array(rows), nodes, rng)
    return Links(nodes, 1, np.split(edges, [int(0.8 * len(edges)), int(0.9 * len(edges))]), options=["--undirected"])


def sites(seed: int, count: int = 150, size: int = 30) -> Links:
    """Pages of sites lead to their home page, a menu of four, the next page, two others, and perhaps to another home page."""
    rng = np.random.default_rng(seed)
    popular = (1 - rng.random(count)) ** (-1 / 1.3)
    rows = []
    for home in range(0, count * size, size):
        menu = home + rng.choice(size, 4, replace=False)
        for page in range(home, home + size):
            if page != home:
                rows.append((page, 0, home))
            rows += [(page, 0, other) for other in menu if other != page]
            rows.append((page, 0, home + (page - home + 1) % size))
            rows += [(page, 0, other) for other in home + rng.integers(size, size=2) if other != page]
            if rng.random() < 0.5:
                rows.append((page, 0, size * int(drawn(popular, 1, rng)[0])))
    return Links(count * size, 1, dealt(renamed(np.array(rows), count * size, rng), rng))


def messages(seed: int, nodes: int = 4000, edges: int = 40_000) -> Links:
    """Who writes to whom by likeness and activity, once or up to a hundred times: most training edges are repetitions."""
    rng = np.random.default_rng(seed)
    at = rng.normal(size=(nodes, 3))
    at /= np.linalg.norm(at, axis=1, keepdims=True)
    active = (1 - rng.random(nodes)) ** (-1 / 1.7)
    source = drawn(active, edges // 2, rng)
    known = drawn(active, 40 * len(source), rng).reshape(len(source), 40)
    liking = np.einsum("ij,ikj->ik", at[source], at[known]) * 8
    to = known[np.arange(len(source)), (liking + rng.gumbel(size=liking.shape)).argmax(1)]
    splits = dealt(np.stack([source, 0 * source, to], 1)[source != to], rng)
    times = np.minimum(rng.zipf(1.7, len(splits[0])), 100)
    return Links(nodes, 1, [np.repeat(splits[0], times, axis=0), *splits[1:]])


def suits(seed: int, items: int = 3000, kinds: int = 12, styles: int = 60, count: int = 20_000) -> Links:
    """What is bought with what: things of the same style and of the kind before or after, never of the same."""
    rng = np.random.default_rng(seed)
    kind, style = rng.integers(kinds, size=items), rng.integers(styles, size=items)
    popular = rng.pareto(1.5, items) + 1
    members = {(k, s): np.flatnonzero((kind == k) & (style == s)) for k in range(kinds) for s in range(styles)}
    rows = []
    for one in drawn(popular, count, rng):
        fit = members[(kind[one] + rng.choice([-1, 1])) % kinds, style[one]]
        fits = len(fit) and rng.random() < 0.9
        rows.append((one, 0, fit[drawn(popular[fit], 1, rng)[0]] if fits else rng.integers(items)))
    edges = np.sort(np.array([(a, b) for a, _, b in rows if a != b]), axis=1)
    return Links(items, 1, dealt(np.insert(np.unique(edges, axis=0), 1, 0, axis=1), rng), options=["--undirected"])


def clubs(seed: int, people: int = 2500, count: int = 1000, topics: int = 40, links: int = 25_000) -> Links:
    """Members of clubs: each person has two topics, some clubs are popular. Links are stored both ways."""
    rng = np.random.default_rng(seed)
    liked, topic = rng.integers(topics, size=(people, 2)), rng.integers(topics, size=count)
    popular, members = rng.pareto(1.3, count) + 1, [np.flatnonzero(topic == t) for t in range(topics)]
    rows = set()
    for person in drawn(rng.pareto(2, people) + 1, links, rng):
        chosen = members[liked[person, rng.integers(2)]] if rng.random() < 0.85 else np.arange(count)
        rows.add((int(person), 0, people + int(chosen[drawn(popular[chosen], 1, rng)[0]])))
    return Links(people + count, 1, dealt(np.array(sorted(rows)), rng), options=["--undirected"])


WORLDS: dict[str, Callable[[int], Links]] = {
    "families": families,
    "world": world,
    "lopsided": lopsided,
    "taxonomy": taxonomy,
    "shop": shop,
    "places": places,
    "baskets": baskets,
    "growing": growing,
    "sites": sites,
    "messages": messages,
    "suits": suits,
    "clubs": clubs,
}
