"""The arrays of a batch, one behind the other in pinned memory, so that one copy brings all of them to the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.device.accelerator import Accelerator

ALIGNMENT = 16
"""Bytes: every array begins at a multiple of it."""
ARRAYS = 32
"""Arrays of a batch, at most. Aligning one takes up to `ALIGNMENT` bytes."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Where an array lies: its addresses on the host and on the device, and a tensor on the device."""

    host: int
    device: int
    tensor: torch.Tensor


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
        if size <= len(self._host):
            return False
        self._make(with_room(size))
        return True

    def put(self, array: npt.NDArray[Any]) -> Sent:
        """Copy an array into the host's side; where it lies once it is sent. Raises ValueError where it does not fit."""
        start, end = self._used, self._used + array.nbytes
        if end > len(self._host):
            raise ValueError(f"a packet of {len(self._host)} bytes cannot take {array.nbytes} more than {start}")
        self._host[start:end].numpy()[:] = array.view(np.uint8).reshape(-1)
        self._used = -(-end // ALIGNMENT) * ALIGNMENT
        tensor = self._device[start:end].view(torch.from_numpy(array[:0]).dtype)
        return Sent(self._host.data_ptr() + start, self._device.data_ptr() + start, tensor)

    def _make(self, size: int) -> None:
        self._host = self._accelerator.host_bytes(size)
        self._device = torch.empty(size, dtype=torch.uint8, device=self._accelerator.device)
        self._used = 0

    def send(self, stream: int) -> None:
        """Copy all arrays to the device, in the order of ``stream``."""
        if self._used:
            self._accelerator.library.copy(
                device=self._accelerator.index,
                stream=stream,
                target=self._device.data_ptr(),
                source=self._host.data_ptr(),
                bytes=min(self._used, len(self._host)),
            )


def with_room(size: int) -> int:
    """``size`` and an eighth more: batches differ a little, and to allocate again takes time."""
    return size + size // 8
