"""The rounds of a search, by successive halving over two kinds of budget: the graph's edges and the epochs.

GraSH (Kochsiek, Niesel and Gemulla, ECML PKDD 2022): each round has a share of a whole training's cost, and keeps the best of the
trials. Both budgets are reduced alike, each by the root of the share.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt


@dataclass(frozen=True)
class Round:
    """A round of trials. ``number`` from 0. ``edges``, ``epochs``: shares of all, the last round's are 1."""

    number: int
    edges: float
    epochs: float

    def epochs_of(self, full: int) -> int:
        """Return how many epochs a trial trains, of ``full`` epochs of a whole training."""
        return max(1, round(full * self.epochs))


def rounds(count: int, reduction: int, reduces_graph: bool) -> list[Round]:
    """Return ``count`` rounds, each of ``reduction`` times the cost a trial of the one before."""
    shares = [float(reduction) ** -(count - 1 - number) for number in range(count)]
    return [
        Round(number, sqrt(share) if reduces_graph else 1.0, sqrt(share) if reduces_graph else share)
        for number, share in enumerate(shares)
    ]


def kept(trials: int, reduction: int) -> int:
    """Return how many of the trials of a round go on to the next."""
    return max(1, ceil(trials / reduction))
