"""The arrays of one batch, side by side in pinned memory, so that one copy brings all of them to the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.device.accelerator import Accelerator

ALIGNMENT = 16
ARRAYS = 32
"""More than any batch puts: each may lose `ALIGNMENT` bytes."""


@dataclass(frozen=True, slots=True)
class Sent:
    """An array's place on both sides: addresses, and a tensor on the device."""

    host: int
    device: int
    tensor: torch.Tensor


class Packet:
    """Room for ``size`` bytes of arrays. What was put stays until `clear`; the caller clears when the device is done."""

    def __init__(self, accelerator: Accelerator, size: int):
        self._accelerator = accelerator
        self._make(size + ARRAYS * ALIGNMENT)

    def clear(self, size: int = 0) -> bool:
        """Forget what was put, and have room for ``size`` bytes of arrays: whether it is in a new place."""
        self._used, size = 0, size + ARRAYS * ALIGNMENT
        if size <= len(self._host):
            return False
        self._make(with_room(size))
        return True

    def put(self, array: npt.NDArray[Any]) -> Sent:
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
        """Copy what was put, on ``stream``."""
        if self._used:
            self._accelerator.library.copy(device=self._accelerator.index, stream=stream, target=self._device.data_ptr(),
                                           source=self._host.data_ptr(), bytes=min(self._used, len(self._host)))


def with_room(size: int) -> int:
    """A size to make where ``size`` is needed: batches differ a little, and making anew costs."""
    return size + size // 8
