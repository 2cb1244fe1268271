"""The graphs of `made_up.py` whose nodes have classes and no features, and are known by where edges lead, and by what relation.

Every kind is a function of (seed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from made_up_nodes import Nodes

Ints = npt.NDArray[np.int64]


def bare(edges: list[Ints], classes: Ints, splits: list[Ints], relation: Ints | None = None) -> Nodes:
    """A graph of one-way edges. ``edges``: sources and destinations."""
    return Nodes(np.stack(edges, 1), np.empty((len(classes), 0), np.float32), classes, splits, one_way=True, relation=relation)


def blocks(seed: int, nodes: int = 3000, classes: int = 8) -> Nodes:
    """Eight of ten links lead to one of two classes, which the source's class says; the others to any."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=nodes)
    two = np.stack([rng.choice(classes, 2, replace=False) for _ in range(classes)])
    members = [np.flatnonzero(y == c) for c in range(classes)]
    source = rng.integers(nodes, size=5 * nodes)
    wanted = two[y[source], rng.integers(2, size=len(source))]
    wanted = np.where(rng.random(len(source)) < 0.8, wanted, rng.integers(classes, size=len(source)))
    target = np.array([rng.choice(members[c]) for c in wanted])
    return bare([source, target], y, np.split(rng.permutation(nodes), [300, 900]))


def suppliers(seed: int, nodes: int = 4000, sectors: int = 10, stages: int = 4) -> Nodes:
    """Firms of four stages in ten sectors. Seven of ten sales are to the next stage of the sector, some to the same one."""
    rng = np.random.default_rng(seed)
    y, sector = rng.integers(stages, size=nodes), rng.integers(sectors, size=nodes)
    members = {(a, b): np.flatnonzero((y == a) & (sector == b)) for a in range(stages) for b in range(sectors)}
    source, target = rng.integers(nodes, size=6 * nodes), []
    for node, chance in zip(source, rng.random(len(source))):
        stage = y[node] + (chance < 0.7 and y[node] + 1 < stages)
        target.append(rng.choice(members[stage, sector[node]]) if chance < 0.85 else rng.integers(nodes))
    return bare([source, np.array(target)], y, np.split(rng.permutation(nodes), [300, 1000]))


def facts(seed: int, people: int = 1000, papers: int = 4000, noise: float = 0.4) -> Nodes:
    """People of four schools: what they write is about subjects of their own, they take part in projects of their own, and judge
    those of the next school. Where they live, whom they know, where papers appear and what these cite says nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=people)
    sizes = {"person": people, "paper": papers, "subject": 80, "project": 60, "city": 30, "journal": 40}
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()])))
    of = {kind: rng.integers(4, size=sizes[kind]) for kind in ("subject", "project")}
    rows: list[tuple[int, int, int]] = []

    def link(source: int, relation: int, kind: str, school: int | None = None) -> None:
        any_one = school is None or rng.random() < noise
        other = rng.integers(sizes[kind]) if any_one else rng.choice(np.flatnonzero(of[kind] == school))
        rows.append((source, relation, first[kind] + int(other)))

    for person in range(people):
        for _ in range(rng.poisson(1.2)):
            link(person, 0, "project", y[person])
        for _ in range(rng.poisson(2)):
            link(person, 1, "project", (y[person] + 1) % 4)
        for _ in range(rng.poisson(2)):
            link(person, 2, "person")
        link(person, 3, "city")
    for paper in range(first["paper"], first["subject"]):
        author = int(rng.integers(people))
        rows.append((author, 4, paper))
        if rng.random() < 0.5:
            rows.append((int(rng.integers(people)), 4, paper))
        for _ in range(2):
            link(paper, 5, "subject", y[author])
        for _ in range(rng.poisson(2)):
            link(paper, 6, "paper")
        link(paper, 7, "journal")
    source, relation, target = np.array(rows).T
    known = np.zeros(sum(sizes.values()), np.int64)
    known[:people] = y
    return bare([source, target], known, np.split(rng.permutation(people), [200, 400]), relation)


def teams(seed: int, count: int = 220) -> Nodes:
    """Teams of a leader, and of members who all talk to the leader alone, or also in a ring, or to half of the others: four
    roles. Each leader knows three others."""
    rng = np.random.default_rng(seed)
    pairs: list[tuple[int, int]] = []
    y: list[int] = []
    leaders = []
    for _ in range(count):
        leader, size, kind = len(y), int(rng.integers(6, 22)), int(rng.integers(3))
        members = range(leader + 1, leader + 1 + size)
        leaders.append(leader)
        y += [0, *[1 + kind] * size]
        pairs += [(each, leader) for each in members if rng.random() < 0.9]
        if kind == 1:
            pairs += zip(members, [*members[1:], members[0]])
        if kind == 2:
            pairs += [(a, b) for a in members for b in members if a < b and rng.random() < 0.5]
    pairs += [(a, int(b)) for a in leaders for b in rng.choice(leaders, 3) if a != b]
    splits = np.split(rng.permutation(len(y)), [2 * len(y) // 5, 3 * len(y) // 5])
    return replace(bare(list(np.array(pairs).T), np.array(y), splits), one_way=False)


def airports(seed: int, nodes: int = 2000) -> Nodes:
    """Flights join airports by their sizes, and near ones more often. The class is a quarter of what passes through in a year,
    which follows from the size but for a third up or down."""
    rng = np.random.default_rng(seed)
    size, place = rng.lognormal(0, 1, nodes), rng.random((nodes, 2))
    source = rng.choice(nodes, 6 * nodes, p=size / size.sum())
    chances = [size / (0.05 + np.linalg.norm(place - place[node], axis=1)) for node in range(nodes)]
    target = np.array([rng.choice(nodes, p=chances[node] / chances[node].sum()) for node in source])
    yearly = size * rng.lognormal(0, 0.3, nodes)
    y = np.searchsorted(np.quantile(yearly, [0.25, 0.5, 0.75]), yearly)
    others = source != target
    splits = np.split(rng.permutation(nodes), [2 * nodes // 5, 3 * nodes // 5])
    return replace(bare([source[others], target[others]], y, splits), one_way=False)


ENDS: dict[str, Callable[[int], Nodes]] = {
    "blocks": blocks,
    "suppliers": suppliers,
    "facts": facts,
    "teams": teams,
    "airports": airports,
}
