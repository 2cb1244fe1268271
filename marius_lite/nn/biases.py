"""Biases: numbers of a node that say how often it is an answer, whatever is asked. There is one for each side of an edge.

They are the last numbers of its row, and take part in nothing else. A score is the decoder's inner product plus FACTOR times the
candidate's bias.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

SIDES = 2
"""How many numbers of a row are biases: the first for side 0, where the node is a destination, the second for side 1."""
FACTOR = 10.0
"""What a query has in the place of a bias. So popularity takes small numbers, which N3 leaves alone."""


def first_biases(counts: npt.NDArray[np.int64], mean: float) -> npt.NDArray[np.float32]:
    """Return the biases (2, n) that give nodes their popularity. ``counts``: how often each is an answer on each side, (2, n).

    ``mean``: how often an average node is. Each counts once more than it is, so that nodes without edges have a bias too. If
    scores are nothing but biases, a softmax among all nodes gives each the share of answers that it has.
    """
    return np.log((counts + 1) / (mean + 1)).astype(np.float32) / np.float32(FACTOR)


def without_biases(rows: torch.Tensor) -> torch.Tensor:
    """Return rows (n, dim) with zeros for their biases, a new tensor. It is differentiable."""
    return torch.cat([rows[:, :-SIDES], rows.new_zeros(len(rows), SIDES)], 1)


def adding_biases(query: torch.Tensor, sides: Sequence[int]) -> torch.Tensor:
    """Return queries (n, dim) that add the candidates' biases to their inner products. It is differentiable.

    ``sides``: of equal parts of the queries, in order.
    """
    factors = query.new_zeros(len(sides), len(query) // len(sides), SIDES)
    for part, side in enumerate(sides):
        factors[part, :, side] = FACTOR
    return torch.cat([query[:, :-SIDES], factors.view(-1, SIDES)], 1)
