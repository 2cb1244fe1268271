"""How vectors are written for others: as they are, or in few bits a number, by unbiased stochastic rounding.

A quantised vector is cut into rows. Each row has a scale of its own, its largest magnitude, and of each number the place between
-scale and +scale as a small integer. It is rounded up or down by chance, so that the mean over many messages is the number
itself (Q-GenX, Ramezani-Kebrya et al. 2023; QSGD, Alistarh et al. 2017). Rows of zeros stay rows of zeros, of all bits.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

EXACT = 32
"""Bits of a number that is written as it is."""
FEWEST, MOST, USUAL = 32, 4096, 256
"""Numbers that have a scale in common: a row of the vector where it has at least and at most so many, else the last."""


class Coding(Protocol):
    """Writes vectors of one size, float32, as others of one size, float32 too. ``width``: numbers of the rows they end with."""

    width: int

    def coded(self, vector: Tensor, seed: int) -> Tensor:
        """Return what is sent for a vector. ``seed``: of the chance by which it is rounded."""

    def plain(self, coded: Tensor) -> Tensor:
        """Return the vector that was sent."""


def coding_of(bits: int, size: int, width: int, exact: tuple[int, int] = (0, 0)) -> Coding:
    """Return the coding of vectors of ``size`` numbers in rows of ``width``, with so many bits a number.

    ``exact``: how many numbers stay as they are, at the beginning and at the end.
    """
    return PlainCoding(width) if bits == EXACT else QuantisedCoding(bits, size, width, exact)


class PlainCoding:
    """See `Coding`: vectors are sent as they are."""

    def __init__(self, width: int):
        self.width = width

    def coded(self, vector: Tensor, seed: int) -> Tensor:
        return vector

    def plain(self, coded: Tensor) -> Tensor:
        return coded


class QuantisedCoding:
    """See `Coding`. Numbers have 8 or 4 ``bits``. What stays exact comes first, then each row: its scale, and its numbers."""

    def __init__(self, bits: int, size: int, width: int, exact: tuple[int, int] = (0, 0)):
        self._levels = (1 << (bits - 1)) - 1
        self._in_byte = 8 // bits
        self._lead, self._tail = exact
        self._body = size - sum(exact)
        self._row = width if FEWEST <= width <= MOST else USUAL
        self._rows = -(-self._body // self._row)
        self._bytes = -(-self._row // (4 * self._in_byte)) * 4
        self.width = 1 + self._bytes // 4

    def coded(self, vector: Tensor, seed: int) -> Tensor:
        end = self._lead + self._body
        rows = vector.new_zeros(self._rows, self._row)
        rows.view(-1)[: self._body] = vector[self._lead : end]
        written = vector.new_zeros(self._rows, self.width)
        touched = rows.any(1).nonzero().flatten()
        if len(touched):
            written[touched] = self._written(rows[touched], torch.Generator().manual_seed(seed))
        return torch.cat([vector[: self._lead], vector[end:], written.view(-1)])

    def plain(self, coded: Tensor) -> Tensor:
        exact = self._lead + self._tail
        rows = coded[exact:].view(self._rows, self.width)
        touched = rows[:, 0].nonzero().flatten()
        read = coded.new_zeros(self._rows, self._row)
        if len(touched):
            read[touched] = self._read(rows[touched])
        return torch.cat([coded[: self._lead], read.view(-1)[: self._body], coded[self._lead : exact]])

    def _written(self, rows: Tensor, chance: torch.Generator) -> Tensor:
        scale = rows.abs().amax(1, keepdim=True)
        exactly = rows / scale * self._levels
        below = exactly.floor()
        up = torch.rand(rows.shape, generator=chance) < exactly - below
        codes = torch.zeros(len(rows), self._bytes * self._in_byte, dtype=torch.int8)
        codes[:, : self._row] = (below + up).to(torch.int8)
        if self._in_byte == 2:
            codes = (codes[:, 0::2] & 15) | (codes[:, 1::2] << 4)
        return torch.cat([scale, codes.contiguous().view(torch.float32)], 1)

    def _read(self, rows: Tensor) -> Tensor:
        codes = rows[:, 1:].contiguous().view(torch.int8)
        if self._in_byte == 2:
            codes = torch.stack([codes << 4 >> 4, codes >> 4], 2).view(len(rows), -1)
        return codes[:, : self._row] * (rows[:, :1] / self._levels)
