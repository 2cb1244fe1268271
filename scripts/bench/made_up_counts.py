"""What counting says of the links of `made_up.py`, without training: common neighbours, paths of three steps, rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

Scores = Callable[[torch.Tensor, torch.Tensor, bool], torch.Tensor]
MOST_RELATIONS = 20
"""Rules are looked for where there are no more relations: pairs of these are tried."""
FEWEST = 5
"""Edges that a rule must explain."""
MOST_RULES = 40


def popularity(train: torch.Tensor, nodes: int, relations: int) -> torch.Tensor:
    """How often each node is a source (0) and a destination (1) of each relation in edges (n, 3): (2, relations, nodes)."""
    counts = torch.zeros(2, relations, nodes)
    for side, column in enumerate((0, 2)):
        counts[side].index_put_((train[:, 1], train[:, column]), torch.ones(len(train)), accumulate=True)
    return counts


def counters(train: torch.Tensor, nodes: int, relations: int) -> dict[str, Scores]:
    """What scores all nodes for questions (nodes, relations, whether destinations are asked for), by name. ``train``: (n, 3)."""
    popular = popularity(train, nodes, relations)
    result: dict[str, Scores] = {"popular in a relation": lambda q, r, forward: popular[int(forward)][r]}
    if relations == 1:
        return {**result, **neighbours(train, popular[:, 0], nodes)}
    return {**result, "rules": rules(train, popular, nodes, relations)} if relations <= MOST_RELATIONS else result


def neighbours(train: torch.Tensor, popular: torch.Tensor, nodes: int) -> dict[str, Scores]:
    """Adamic and Adar's count; paths of three steps, weighed by degrees; what those chose who chose alike. Ties: popularity."""
    links = torch.zeros(nodes, nodes)
    links[train[:, 0], train[:, 2]] = 1.0
    either = ((links + links.T) > 0).float()
    weighed = either / either.sum(1).clamp(min=1).log().clamp(min=0.3)
    out, into = links.sum(1).clamp(min=1), links.sum(0).clamp(min=1)
    by_root = links / out.sqrt()[:, None] / into.sqrt()
    tie = 1e-6 * popular / popular.max()

    def adamic(q: torch.Tensor, _: torch.Tensor, forward: bool) -> torch.Tensor:
        return weighed[q] @ either.T + tie[int(forward)]

    def paths(q: torch.Tensor, _: torch.Tensor, forward: bool) -> torch.Tensor:
        way = by_root if forward else by_root.T
        return (way[q] @ way.T) @ way + tie[int(forward)]

    def alike(q: torch.Tensor, _: torch.Tensor, forward: bool) -> torch.Tensor:
        way, ends, starts = (links, into, out) if forward else (links.T, out, into)
        return (((way[q] / ends.sqrt()) @ way.T) / starts) @ way + tie[int(forward)]

    return {"common neighbours": adamic, "three steps": paths, "chosen alike": alike}


def rules(train: torch.Tensor, popular: torch.Tensor, nodes: int, relations: int) -> Scores:
    """Paths of one or two edges that come with a relation, each with the share of its pairs that have it, by noisy or."""
    tables: list[torch.Tensor] = []
    for relation in range(relations):
        edges, table = train[train[:, 1] == relation], torch.zeros(nodes, nodes)
        table[edges[:, 0], edges[:, 2]] = 1.0
        tables += [table, table.T.contiguous()]
    found: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in range(relations)]
    for path, pairs in _paths(tables):
        total = float(pairs.sum())
        for relation in range(relations):
            right = float((pairs * tables[2 * relation]).sum())
            if path != (2 * relation,) and right >= FEWEST:
                found[relation].append((right / (total + FEWEST), path))

    def scores(q: torch.Tensor, rel: torch.Tensor, forward: bool) -> torch.Tensor:
        wrong = torch.ones(len(q), nodes)
        for relation in rel.unique().tolist():
            at = (rel == relation).nonzero()[:, 0]
            for share, path in sorted(found[relation], reverse=True)[:MOST_RULES]:
                reached = torch.eye(nodes)[q[at]]
                for step in path if forward else [step ^ 1 for step in reversed(path)]:
                    reached = reached @ tables[step]
                wrong[at] *= 1 - share * (reached > 0).float()
        return 1 - wrong + 1e-7 * popular[int(forward)][rel]

    return scores


def _paths(tables: list[torch.Tensor]) -> Iterator[tuple[tuple[int, ...], torch.Tensor]]:
    """Paths of one and two edges, forward (even) or back, and the pairs of nodes that they join, (nodes, nodes)."""
    for first, table in enumerate(tables):
        yield (first,), table
        for second, other in enumerate(tables):
            pairs = (torch.sparse.mm(table.to_sparse(), other) > 0).float()
            yield (first, second), pairs.fill_diagonal_(0)
