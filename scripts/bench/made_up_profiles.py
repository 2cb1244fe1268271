"""The graphs of `made_up.py` whose nodes have profiles: weak ones, amounts of money, codes of kinds, two numbers that only tell
together, and some that tell the classes of nodes several links away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from made_up_nodes import Nodes, classed, mean_of_neighbours
from made_up_trades import TRADES


def profiles(seed: int, nodes: int = 5000) -> Nodes:
    """Customers whose age, sex and ten other numbers say next to nothing; who knows whom says what they buy."""
    graph, rng = classed(seed, nodes=nodes, same=0.6, signal=0.0), np.random.default_rng(seed + 10)
    x = rng.normal(size=(len(graph.y), 12))
    x[:, 0] += 0.15 * graph.y
    x[:, 1], x[:, 2] = rng.integers(18, 80, len(x)), rng.integers(2, size=len(x))
    return replace(graph, x=x.astype(np.float32))


def groups(seed: int, nodes: int = 6000, count: int = 60, classes: int = 6) -> Nodes:
    """Links stay in one of sixty groups; a class is ten of these, anywhere in the graph. Features say a little of the class."""
    graph, rng = classed(seed, nodes=nodes, classes=count, same=0.7, signal=0.0), np.random.default_rng(seed + 10)
    y = rng.integers(classes, size=count)[graph.y]
    x = rng.normal(size=(nodes, 16))
    x[:, :classes] += 0.3 * np.eye(classes)[y]
    return replace(graph, y=y, x=x.astype(np.float32))


def amounts(seed: int, columns: int = 20) -> Nodes:
    """Features are amounts, in units from a thousandth to ten thousand: the class shows in their logarithms. Few are trained."""
    graph, rng = classed(seed, nodes=5000, classes=4, same=0.35, signal=0.0, train=0.016), np.random.default_rng(seed + 10)
    logs = 2 * rng.normal(size=(len(graph.y), columns))
    logs[:, :8] += 1.2 * rng.normal(size=(4, 8))[graph.y]
    return replace(graph, x=(np.exp(logs) * 10.0 ** rng.integers(-3, 5, columns)).astype(np.float32))


def codes(seed: int, nodes: int = 4000) -> Nodes:
    """Customers have codes of a country, a device and a tariff, an age and an amount. The class follows from what the codes stand
    for: a node's own country and device, and the tariffs of its neighbours."""
    rng = np.random.default_rng(seed)
    table = [rng.integers(count, size=nodes) for count in (40, 12, 6)]
    age, amount = rng.integers(18, 90, size=nodes), np.exp(1.3 * rng.normal(size=nodes))
    edges = rng.integers(nodes, size=(5 * nodes, 2))
    country, device, tariff = (rng.normal(size=(codes.max() + 1, 4))[codes] for codes in table)
    links = np.sqrt(np.maximum(np.bincount(edges.ravel(), minlength=nodes), 1))[:, None]
    near = mean_of_neighbours(edges, tariff) * links
    score = country + device + 2 * near + 0.3 * np.log(amount)[:, None] * rng.normal(size=4) + 0.3 * rng.normal(size=(nodes, 4))
    splits = np.split(rng.permutation(nodes), [nodes // 2, 7 * nodes // 10])
    return Nodes(edges, np.stack([*table, age, amount], 1).astype(np.float32), score.argmax(1), splits)


def pages(seed: int, nodes: int = 5000, classes: int = 40, words: int = 1000) -> Nodes:
    """Pages of twenty to sixty words, of which one in seven follows from the class; the others are of any text. Few classes are
    frequent, and so are few words. Half of the links stay in a class."""
    rng = np.random.default_rng(seed)
    frequent = [1 / np.arange(1, count + 1) for count in (classes, words)]
    of_class, of_text = (each / each.sum() for each in frequent)
    y, topics = rng.choice(classes, nodes, p=of_class), rng.dirichlet(np.full(words, 0.02), classes)
    x = np.stack([rng.multinomial(rng.integers(20, 60), 0.85 * of_text + 0.15 * topics[c]) for c in y])
    members, source = [np.flatnonzero(y == c) for c in range(classes)], np.repeat(np.arange(nodes), 3)
    target = [rng.choice(members[y[s]]) if rng.random() < 0.55 else rng.integers(nodes) for s in source]
    splits = np.split(rng.permutation(nodes), [500, 800])
    return Nodes(np.stack([source, target], 1), x.astype(np.float32), y, splits, one_way=True)


def companies(seed: int, nodes: int = 3000) -> Nodes:
    """Links of six kinds. The class follows from a company's own numbers and the means of those that two rare kinds come from."""
    rng = np.random.default_rng(seed)
    target = [np.repeat(np.arange(nodes), rng.poisson(links, nodes)) for links in (3, 3, 8, 8, 5, 5)]
    edges = [np.stack([rng.integers(nodes, size=len(each)), each], 1) for each in target]
    x = rng.normal(size=(nodes, 12))
    score = 0.4 * x @ rng.normal(size=(12, 5))
    for each in edges[:2]:
        links = np.maximum(np.bincount(each[:, 1], minlength=nodes), 1)[:, None]
        means = np.stack([np.bincount(each[:, 1], column[each[:, 0]], nodes) for column in x.T], 1) / links
        score += 1.3 * means @ rng.normal(size=(12, 5))
    score = score / score.std(0) + 0.15 * rng.gumbel(size=(nodes, 5))
    splits, kinds = np.split(rng.permutation(nodes), [nodes // 2, 7 * nodes // 10]), [len(each) for each in edges]
    relation = np.repeat(np.arange(6), kinds)
    return Nodes(np.concatenate(edges), x.astype(np.float32), score.argmax(1), splits, relation=relation, one_way=True)


def either(seed: int, nodes: int = 4000) -> Nodes:
    """The class is whether a number of a node and its neighbours' mean of another have the same sign, but for one in twenty."""
    graph, rng = classed(seed, nodes=nodes, classes=2, same=0.0, train=0.5), np.random.default_rng(seed + 10)
    x = rng.normal(size=(nodes, 12))
    y = ((x[:, 0] > 0) ^ (mean_of_neighbours(graph.edges, x[:, 1:2])[:, 0] > 0)).astype(np.int64)
    y ^= rng.random(nodes) < 0.05
    return replace(graph, y=y, x=x.astype(np.float32))


def stages(seed: int, nodes: int = 5000, count: int = 5) -> Nodes:
    """Products of five stages, each made of two to four of the stage before. The class follows from means over one, two and, most
    of all, three links against their direction."""
    rng = np.random.default_rng(seed)
    stage = rng.integers(count, size=nodes)
    members = [np.flatnonzero(stage == s) for s in range(count)]
    made_of = [rng.choice(members[s - 1], rng.integers(2, 5), replace=False) if s else np.empty(0, np.int64) for s in stage]
    edges = np.stack([np.concatenate(made_of), np.repeat(np.arange(nodes), [len(parts) for parts in made_of])], 1)
    x = rng.normal(size=(nodes, 12))
    links = np.maximum(np.bincount(edges[:, 1], minlength=nodes), 1)

    def before(values: npt.NDArray[np.float64], stages: int) -> npt.NDArray[np.float64]:
        for _ in range(stages):
            values = np.bincount(edges[:, 1], values[edges[:, 0]], nodes) / links
        return values

    far = 0.6 * before(x[:, 2], 1) + before(x[:, 3], 2) + 2 * before(x[:, 0] + 0.5 * x[:, 1], 3)
    score = 0.3 * x[:, 4] + far + 0.1 * rng.normal(size=nodes)
    y = np.digitize(score, np.quantile(score, [0.25, 0.5, 0.75]))
    splits = np.split(rng.permutation(nodes), [nodes // 5, 2 * nodes // 5])
    return Nodes(edges, x.astype(np.float32), y, splits, one_way=True)


def ratings(seed: int, users: int = 3000, items: int = 600) -> Nodes:
    """Users rate items from 1 to 5 by a taste that their class has. Items have noisy features. Users are classified."""
    rng = np.random.default_rng(seed)
    y, topic, taste = rng.integers(4, size=users), rng.normal(size=(items, 8)), rng.normal(size=(4, 8))
    popular = 1 / np.arange(1, items + 1) ** 0.6
    user, item = np.repeat(np.arange(users), 12), rng.choice(items, 12 * users, p=popular / popular.sum())
    liked = (taste[y[user]] * topic[item]).sum(1) / np.sqrt(8) + 0.7 * rng.normal(size=len(user))
    x = np.zeros((users + items, 10), np.float32)
    x[users:] = np.concatenate([topic + 0.3 * rng.normal(size=topic.shape), rng.normal(size=(items, 2))], 1)
    classes = np.concatenate([y, np.zeros(items, int)])
    weights = 1.0 + np.digitize(liked, [-1, -0.3, 0.3, 1])
    splits = np.split(rng.permutation(users), [3 * users // 10, users // 2])
    return Nodes(np.stack([user, users + item], 1), x, classes, splits, weights=weights)


def trust(seed: int, nodes: int = 3000) -> Nodes:
    """Weights of 1 are trust, nine of ten times in the own of two camps, weights of -1 distrust, likewise of the other camp."""
    rng = np.random.default_rng(seed)
    y, source = rng.integers(2, size=nodes), rng.integers(nodes, size=6 * nodes)
    weights = rng.choice([-1.0, 1.0], len(source))
    same = (weights > 0) == (rng.random(len(source)) < 0.9)
    members = [np.flatnonzero(y == c) for c in range(2)]
    target = np.array([rng.choice(members[c]) for c in np.where(same, y[source], 1 - y[source])])
    x = rng.normal(size=(nodes, 8)).astype(np.float32)
    x[:, 0] += y
    return Nodes(np.stack([source, target], 1), x, y, np.split(rng.permutation(nodes), [300, 900]), weights=weights)


PROFILES: dict[str, Callable[[int], Nodes]] = {
    "profiles": profiles,
    "groups": groups,
    "amounts": amounts,
    "codes": codes,
    "pages": pages,
    "companies": companies,
    "either": either,
    "stages": stages,
    "next-class": lambda seed: replace(classed(seed, signal=1.0, step=1), one_way=True),
    "class-after-next": lambda seed: replace(classed(seed, nodes=4000, classes=5, signal=0.6, step=2), one_way=True),
    "ratings": ratings,
    "trust": trust,
    **TRADES,
}
