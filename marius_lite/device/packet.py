"""The arrays of a batch, one behind the other in pinned memory, so that one copy brings all of them to the device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import pack
from marius_lite.device.accelerator import Accelerator

ALIGNMENT = 16
"""Bytes: every array begins at a multiple of it."""
LONG = 1 << 18
"""Bytes that take longer to send than the host takes to put them on a stream of their own."""
ARRAYS = 32
"""Arrays of a batch, at most. Aligning one takes up to `ALIGNMENT` bytes."""


class Sent(NamedTuple):  # which is made in less time than a frozen dataclass, some times a batch
    """Where an array lies: its addresses on the host and on the device, and its bytes there."""

    host: int
    device: int
    bytes: int
    dtype: np.dtype[Any]
    start: int
    room: torch.Tensor

    @property
    def tensor(self) -> torch.Tensor:
        """The array on the device, (n,)."""
        return self.room[self.start : self.start + self.bytes].view(torch_type(self.dtype))


class Packet:
    """Room for ``size`` bytes of arrays, on the host and on the device.

    The caller clears it when the device is done with the arrays.
    """

    def __init__(self, accelerator: Accelerator, size: int):
        self._accelerator = accelerator
        self._make(size + ARRAYS * ALIGNMENT)

    def clear(self, size: int = 0) -> bool:
        """Forget all arrays, and have room for ``size`` bytes; true if the room is new memory."""
        self._used, size = 0, size + ARRAYS * ALIGNMENT
        if size <= len(self._bytes):
            return False
        self._make(with_room(size))
        return True

    @property
    def used(self) -> int:
        """Bytes that arrays take so far."""
        return self._used

    def put(self, arrays: Sequence[npt.NDArray[Any]]) -> list[Sent]:
        """Copy arrays into the host's side; where they lie once they are sent. Raises ValueError where they do not fit."""
        *starts, self._used = pack(arrays, self._bytes, self._used, ALIGNMENT)
        host, there, room = self._address, self._there, self._device
        return [Sent(host + start, there + start, array.nbytes, array.dtype, start, room) for start, array in zip(starts, arrays)]

    def _make(self, size: int) -> None:
        self._host = self._accelerator.host_bytes(size)
        self._device = torch.empty(size, dtype=torch.uint8, device=self._accelerator.device)
        # What every `put` needs of them, which takes a while to ask for.
        self._bytes, self._address, self._there = self._host.numpy(), self._host.data_ptr(), self._device.data_ptr()
        self._used = 0

    def send(self, stream: int) -> None:
        """Copy all arrays to the device, in the order of ``stream``."""
        if self._used:
            self._accelerator.library.copy(
                device=self._accelerator.index,
                stream=stream,
                target=self._there,
                source=self._address,
                bytes=min(self._used, len(self._bytes)),
            )


@cache
def torch_type(dtype: np.dtype[Any]) -> torch.dtype:
    """The type of a tensor that has the numbers of such an array."""
    return torch.from_numpy(np.empty(0, dtype)).dtype


def with_room(size: int) -> int:
    """``size`` and an eighth more: batches differ a little, and to allocate again takes time."""
    return size + size // 8
