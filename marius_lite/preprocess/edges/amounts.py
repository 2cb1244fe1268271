"""How many edges are sorted and stored, of those that were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from marius_lite.preprocess.options import SPLITS, Options


@dataclass(frozen=True)
class Amounts:
    """How many edges there are at each stage. ``counts``: edges that were read for each split."""

    options: Options
    counts: Sequence[int]

    @property
    def read(self) -> int:
        return sum(self.counts)

    @property
    def stored(self) -> int:
        return self._stored(self.read)

    @property
    def records(self) -> int:
        """The most records that are sorted: stored edges, and the reverses that are looked for in training."""
        return self.stored + (sum(self.counts[1:]) if self.options.reverses_sought else 0)

    def bound(self, split: str) -> int:
        """Return the most edges that a split can store."""
        return self._stored(self.read if self.options.fractions else self.counts[SPLITS.index(split)])

    def _stored(self, edges: int) -> int:
        return edges * (2 if self.options.undirected else 1)
