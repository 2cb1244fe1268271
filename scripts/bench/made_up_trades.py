"""The graphs of `made_up.py` of who deals with whom: patients and what they have, countries and what they sell, accounts and what
they move. Features say little; which edges there are, how many, and how heavy, says much."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from made_up_nodes import Nodes


def patients(seed: int, count: int = 3500, kinds: int = 700) -> Nodes:
    """Patients and the findings that they have, which alone say who falls ill: one patient in six. Age and sex say next to
    nothing, and findings have neither."""
    rng = np.random.default_rng(seed)
    syndromes, usual = rng.dirichlet(np.full(kinds, 0.03), 12), rng.pareto(1, kinds)
    danger = 2.5 * rng.normal(size=kinds) * (rng.random(kinds) < 0.15)
    edges, risk = [], rng.logistic(size=count) / 2
    for patient in range(count):
        chances = 0.7 * rng.dirichlet(np.full(12, 0.2)) @ syndromes + 0.3 * usual / usual.sum()
        found = np.unique(rng.choice(kinds, 3 + rng.poisson(7), p=chances))
        edges.append(np.stack([np.full(len(found), patient), count + found], 1))
        risk[patient] += 0.7 * danger[found].sum()
    x, y = np.zeros((count + kinds, 3)), np.full(count + kinds, -1)  # findings have no class
    y[:count] = risk > np.quantile(risk, 5 / 6)
    x[:count] = np.stack([rng.normal(60, 18, count), rng.integers(2, size=count), rng.lognormal(1.5, 0.7, count)], 1)
    splits = np.split(rng.permutation(count), [count // 2, 7 * count // 10])
    return Nodes(np.concatenate(edges), x.astype(np.float32), y, splits)


def blocs(seed: int, nodes: int = 2000, count: int = 6) -> Nodes:
    """Countries sell by their sizes, and eight times as much within a bloc, from 1 to 10^9 and more. Features say who is large,
    and where."""
    rng = np.random.default_rng(seed)
    y, size, place = rng.integers(count, size=nodes), rng.lognormal(0, 1.8, nodes), rng.normal(size=(nodes, 2))
    chances = np.sqrt(size) / np.sqrt(size).sum()
    edges = np.concatenate([np.stack([np.full(25, i), rng.choice(nodes, 25, False, chances)], 1) for i in range(nodes)])
    source, target = edges[edges[:, 0] != edges[:, 1]].T
    near = 1 / (0.1 + np.linalg.norm(place[source] - place[target], axis=1))
    sold = 1e5 * size[source] * size[target] * near * rng.lognormal(0, 1, len(source)) * np.where(y[source] == y[target], 8, 1)
    x = np.stack([1e9 * size * rng.lognormal(0, 0.2, nodes), 1e6 * np.sqrt(size), 40 * place[:, 0], 90 * place[:, 1]], 1)
    splits = np.split(rng.permutation(nodes), [2 * nodes // 5, 3 * nodes // 5])
    return Nodes(np.stack([source, target], 1), x.astype(np.float32), y, splits, weights=sold, one_way=True)


def mules(seed: int, nodes: int = 5000) -> Nodes:
    """Accounts pay each other; shops are paid by many. One account in forty passes on to one or two others what some paid it."""
    rng = np.random.default_rng(seed)
    y = (rng.random(nodes) < 0.025).astype(np.int64)
    shop = (rng.random(nodes) < 0.1) & (y == 0)
    popular = np.where(shop, rng.lognormal(3, 1, nodes), rng.lognormal(0, 0.5, nodes))
    source = np.repeat(np.arange(nodes), 1 + rng.lognormal(1, 0.8, nodes).astype(int))
    edges = [np.stack([source, rng.choice(nodes, len(source), p=popular / popular.sum())], 1)]
    paid = [rng.lognormal(3.5 + 1.5 * shop[source], 1.1)]
    for mule in np.flatnonzero(y):
        payers, takers = rng.choice(nodes, rng.integers(2, 6)), rng.choice(nodes, rng.integers(1, 3))
        came = rng.lognormal(5.5, 1, len(payers))
        pairs = [[payer, mule] for payer in payers] + [[mule, taker] for taker in takers]
        edges.append(np.array(pairs))
        paid.append(np.concatenate([came, came.sum() * rng.uniform(0.4, 0.6, len(takers))]))
    every, amounts = np.concatenate(edges), np.concatenate(paid)
    others = every[:, 0] != every[:, 1]
    saved = np.where(y == 1, rng.lognormal(5.6, 1, nodes), rng.lognormal(6, 1, nodes))
    x = np.stack([rng.integers(18, 80, nodes), saved, shop, rng.integers(2, size=nodes)], 1)
    splits = np.split(rng.permutation(nodes), [nodes // 2, 7 * nodes // 10])
    return Nodes(every[others], x.astype(np.float32), y, splits, weights=amounts[others], one_way=True)


TRADES: dict[str, Callable[[int], Nodes]] = {"patients": patients, "blocs": blocs, "mules": mules}
