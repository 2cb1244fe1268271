"""Give workers that are not equally fast as much as each can do: how large their batches are, and when they merge.

Adaptive SGD (Ma, Rusu, Wu and Sim 2022): a worker that made more updates than the mean since the last merge gets larger batches,
and a larger learning rate in proportion. So all come to make the same number of updates, each as long as the others'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHARPNESS = 0.3
"""By which part of its first batch a worker's batches change, where it made twice as many updates as the mean, or none. Sizes
settle while they are more than half of this part of the first ones. Smaller ones swing, and would the more, the more this is."""
LEAST = 8
"""No worker's batches become smaller than this part of the first ones."""


@dataclass(frozen=True)
class Paces:
    """``batch``: nodes of the batches of all ``workers`` together, at the beginning. They merge once each has had about
    ``between`` of its own."""

    batch: int
    workers: int
    between: int

    @property
    def first(self) -> int:
        """Nodes of a worker's first batches."""
        return max(1, -(-self.batch // self.workers))

    def following(self, sizes: Sequence[int], updates: Sequence[int]) -> list[int]:
        """Return the sizes of the workers' batches after a merge, where each made so many updates before it."""
        mean, step = sum(updates) / len(updates), SHARPNESS * self.first / self.between
        least = -(-self.first // LEAST)
        return [round(min(max(size + step * (each - mean), least), self.batch)) for size, each in zip(sizes, updates)]

    def rates(self, sizes: Sequence[int]) -> list[float]:
        """Return factors of the workers' learning rates, in proportion to the sizes of their batches.

        The mean of them is 1 where each counts as in a merge, by its nodes. So merged weights move as far as those of equal
        workers: with the first sizes alone as the measure (as in the paper), one that trains nearly all would learn nearly twice
        as fast beside a slow one as beside an equal one.
        """
        measure = sum(sizes) / sum(size**2 for size in sizes)
        return [size * measure for size in sizes]

    def until_merge(self, left: int) -> int:
        """Return how many of the nodes that are ``left`` in an epoch are trained before the next merge.

        So an epoch ends with a merge, and the last one has about as many nodes as any other.
        """
        return -(-left // max(1, round(left / (self.batch * self.between))))
