"""Tensors for others to keep, made of memory that earlier ones no longer use.

Large new memory has pages that the system must map and clear first, which takes four times as long as to copy 30 MB of rows.
"""

from __future__ import annotations

import weakref
from collections import deque
from contextlib import suppress
from math import prod
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

KEPT = 2
"""Blocks of memory that wait to be used again, at most. A loop over batches has one in use while the next one is made, and drops
both where it ends.
"""


class RecycledRows:
    """Makes float32 tensors. Where nobody has such a tensor any more, nor a view of it, its memory is used for another one."""

    def __init__(self) -> None:
        self._free: deque[npt.NDArray[Any]] = deque(maxlen=KEPT)  # any thread may drop a tensor; adding to a deque is atomic
        self._largest = 0

    def tensor(self, *shape: int) -> Tensor:
        """Return a new tensor of any numbers. Its storage cannot be resized."""
        size = prod(shape)
        block = self._block(size)
        array = block[:size].reshape(shape)  # an object of its own, which lives as long as the tensor's storage
        weakref.finalize(array, self._free.append, block).atexit = False
        return torch.from_numpy(array)

    def _block(self, size: int) -> npt.NDArray[Any]:
        """Return the block that was freed last if it has at least ``size`` numbers, and at most twice as many; else a new one,
        with room for the largest batch so far where this one is nearly as large."""
        with suppress(IndexError):  # there is none, or another thread has just taken it
            block = self._free.pop()
            if size <= len(block) <= 2 * size:
                return block
        self._largest = max(size, self._largest if self._largest <= size + size // 2 else 0)
        array: npt.NDArray[Any] = torch.empty(self._largest + self._largest // 8, dtype=torch.float32).numpy()
        return array
