"""Make one model of what several workers have trained, each apart from the others since they last met.

A worker sends how its vector of weights has changed, not the vector: changes are small, so that they lose little where they are
written in few bits, and weights that nobody has touched are rows of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from marius_lite.merging.coding import Coding

Exchange = Callable[[Tensor], list[Tensor]]
"""Gives a vector to others, and returns theirs, of the same size."""


class Merge(Protocol):
    """One way to merge. Every worker makes the same calls, one after another."""

    def hold(self, common: Tensor) -> None:
        """Take note that all workers have this vector, float32 (n,)."""

    def merged(self, mine: Tensor, weight: float, seed: int) -> Tensor:
        """Return this worker's vector after a merge. ``mine``: before it. ``seed``: of its chance, another for each worker.

        A vector counts in proportion to its ``weight``, at least 0. Where all are 0, nothing changes.
        """


class AllMerge:
    """All workers get the same bits: what they had in common, and the weighted mean of how each has changed it.

    ``to_all``: gives vectors to all workers, and returns those of all, in order.
    """

    def __init__(self, coding: Coding, to_all: Exchange):
        self._coding, self._to_all = coding, to_all
        self._common = torch.empty(0)

    def hold(self, common: Tensor) -> None:
        self._common = common.clone()

    def merged(self, mine: Tensor, weight: float, seed: int) -> Tensor:
        given = self._to_all(_message(weight, self._coding.coded(mine - self._common, seed)))
        for share, vector in zip(_shares([float(each[0]) for each in given]), given):
            self._common.add_(self._coding.plain(vector[1:]), alpha=share)
        return self._common.clone()


class RingMerge:
    """Each worker takes the weighted mean of its vector and those of the workers before and after it, around a ring.

    So vectors come close to each other without being equal, and a merge costs a worker the same however many others there are.
    Each keeps an estimate of its own vector and of those beside it, which follow from what was sent: so what rounding changed is
    sent with the next message (Koloskova, Stich and Jaggi 2019: CHOCO-SGD). ``around``: gives a vector to the workers beside
    this one, and returns theirs.
    """

    def __init__(self, coding: Coding, around: Exchange):
        self._coding, self._around = coding, around
        self._own = torch.empty(0)
        self._others = list[Tensor]()

    def hold(self, common: Tensor) -> None:
        self._own, self._others = common.clone(), []

    def merged(self, mine: Tensor, weight: float, seed: int) -> Tensor:
        sent = _message(weight, self._coding.coded(mine - self._own, seed))
        given = self._around(sent)
        self._others = self._others or [self._own.clone() for _ in given]
        for estimate, message in zip([self._own, *self._others], [sent, *given], strict=True):
            estimate += self._coding.plain(message[1:])
        merged = mine.clone()
        for share, estimate in zip(_shares([weight, *(float(each[0]) for each in given)])[1:], self._others):
            merged.add_(estimate - self._own, alpha=share)
        return merged


def _message(weight: float, coded: Tensor) -> Tensor:
    return torch.cat([coded.new_tensor([weight]), coded])


def _shares(weights: Sequence[float]) -> list[float]:
    """Return which part of all each weight is."""
    total = sum(weights)
    return [weight / total if total else 0.0 for weight in weights]
