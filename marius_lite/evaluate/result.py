"""Turn ranks into figures: MRR, hits and mean rank, over all, by side and by relation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Ties = Literal["realistic", "optimistic", "pessimistic"]
Ranks = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
HITS = (1, 3, 10)
NUMBERS = ("mrr", *(f"hits@{k}" for k in HITS), "mean_rank")
SIDES = ("destination", "source")

TIES: Mapping[str, Callable[[Ranks, Ranks], Ranks]] = {
    "realistic": lambda above, equal: 1 + above + equal / 2,
    "optimistic": lambda above, equal: 1 + above,
    "pessimistic": lambda above, equal: 1 + above + equal,
}
"""The rank from the numbers of candidates that are above and equal. Realistic is the mean of the other two."""


class Totals:
    """Sums over ranks, by side and relation. Memory grows with the relations."""

    def __init__(self, relations: int):
        names = ("count", "mrr", "mean_rank", *map(_hits, HITS))
        self._sums = {name: np.zeros((2, relations)) for name in names}

    def add(self, side: int, rel: npt.NDArray[np.int64], ranks: Ranks) -> None:
        """Add the ``ranks`` (n,) of queries of one side, whose relations are ``rel`` (n,)."""
        values = {
            "count": np.ones(len(ranks)),
            "mrr": 1 / ranks,
            "mean_rank": ranks,
            **{_hits(k): (ranks <= k).astype(float) for k in HITS},
        }
        for name, each in values.items():
            self._sums[name][side] += np.bincount(rel, each, minlength=self._sums[name].shape[1])

    def summary(self, relation_names: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return the figures, ready for JSON. ``count`` is the number of edges, which is that of the queries of one side."""
        totals = {name: sums.sum(axis=1) for name, sums in self._sums.items()}
        queries = totals["count"]
        return {
            **self.overall(),
            "count": int(queries[0]),
            "per_side": {
                side: {**{name: _mean(totals[name][at], queries[at]) for name in NUMBERS}, "count": int(queries[at])}
                for at, side in enumerate(SIDES)
            },
            "per_relation": self.per(relation_names),
        }

    def overall(self) -> dict[str, float | None]:
        """Return the means over all queries of both sides."""
        return {name: _mean(self._sums[name].sum(), self._sums["count"].sum()) for name in NUMBERS}

    def queries(self) -> npt.NDArray[np.int64]:
        """Return how many queries each relation has, of both sides."""
        return np.asarray(self._sums["count"].sum(axis=0).astype(np.int64))

    def per(self, names: Sequence[Any] | None) -> dict[str, dict[str, float | int | None]]:
        """Return the figures of each relation that has any, by name; ``count``: its edges."""
        counts = self._sums["count"].sum(axis=0)
        return {
            str(names[rel] if names is not None else rel): {
                "mrr": _mean(self._sums["mrr"][:, rel].sum(), counts[rel]),
                **{
                    f"{side}_mrr": _mean(self._sums["mrr"][at, rel], self._sums["count"][at, rel])
                    for at, side in enumerate(SIDES)
                },
                "hits@10": _mean(self._sums["hits@10"][:, rel].sum(), counts[rel]),
                "count": int(self._sums["count"][0, rel]),
            }
            for rel in np.flatnonzero(counts).tolist()
        }


class ByDegree:
    """Figures by the degree of the true answer: 0, 1, 2 to 3, 4 to 7, and so on."""

    def __init__(self) -> None:
        self._totals = Totals(64)

    def add(self, side: int, degrees: npt.NDArray[np.int64], ranks: Ranks) -> None:
        """Add the ``ranks`` (n,) of queries of one side, whose answers have these ``degrees`` (n,)."""
        self._totals.add(side, np.frexp(degrees)[1].astype(np.int64), ranks)

    def summary(self) -> dict[str, Any]:
        """Return the figures by range of degrees, as `Totals` gives them by relation. ``count``: queries of both sides."""
        names = ["0", "1", *(f"{1 << (k - 1)} to {(1 << k) - 1}" for k in range(2, 64))]
        counts = dict(zip(names, self._totals.queries().tolist()))
        return {name: {**figures, "count": counts[name]} for name, figures in self._totals.per(names).items()}


class SelfBest:
    """Counts the queries whose best answer was their own node."""

    def __init__(self) -> None:
        self._best = self._queries = 0

    def add(self, best: Flags) -> None:
        self._best += int(best.sum())
        self._queries += best.size

    def share(self) -> float | None:
        """Return their share of all queries. None where there are no queries."""
        return _mean(self._best, self._queries)


def _hits(k: int) -> str:
    return f"hits@{k}"


def _mean(total: float, count: float) -> float | None:
    return float(total / count) if count else None
