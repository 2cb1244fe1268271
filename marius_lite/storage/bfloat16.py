"""Rows of bfloat16, whose bits numpy keeps as uint16: float32 rounded to 8 significant bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint16]

BITS = np.dtype(np.uint16)
"""The dtype of tables of bfloat16. No table has numbers of uint16."""


def to_bfloat16(values: Floats) -> Bits:
    """Return the bits of the nearest bfloat16 of finite values, or of infinity beyond its range. ``values`` is overwritten."""
    bits = values.view(np.uint32)
    odd = bits >> np.uint32(16)
    odd &= np.uint32(1)
    bits += odd
    bits += np.uint32(0x7FFF)
    bits >>= np.uint32(16)
    return bits.astype(np.uint16)


def from_bfloat16(bits: Bits) -> Floats:
    """Return the numbers that bits stand for: a new array."""
    words = bits.astype(np.uint32)
    words <<= np.uint32(16)
    return words.view(np.float32)


def floats(rows: npt.NDArray[Any]) -> Floats:
    """Return rows of float32 as they are, and rows of bfloat16 as a new array of float32."""
    return from_bfloat16(rows) if rows.dtype == BITS else rows


def as_stored(values: Floats, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return values as a table of this dtype has them. Where it has bfloat16, ``values`` is overwritten."""
    return to_bfloat16(values) if dtype == BITS else values


class WidenedRows:
    """Rows of bfloat16 that become float32 when they are asked for, by whatever indexes an array. ``bits``: (n, columns)."""

    def __init__(self, bits: Bits):
        self._bits = bits

    def __len__(self) -> int:
        return len(self._bits)

    def __getitem__(self, rows: slice | npt.NDArray[np.int64]) -> Floats:
        return from_bfloat16(self._bits[rows])
