"""The staged gather for a GPU: the CPU gathers into pinned memory, one asynchronous copy brings it over."""

from __future__ import annotations

import torch

from marius_lite.device.host import HostGather, Table
from marius_lite.types import DeviceBatch, SampledBatch


class StagedGather:
    """As HostGather, with tensors on ``device``; the pinned side is reused once the copy has finished."""

    def __init__(self, table: Table, dim: int, device: torch.device, ring: int = 1, threads: int = 1):
        self._host = HostGather(table, dim, ring, threads, pinned=True)
        self._device = device

    def __call__(self, sampled: SampledBatch) -> DeviceBatch:
        host = self._host(sampled)
        src, dst, negatives, rel = (t.to(self._device, non_blocking=True)
                                    for t in (host.src, host.dst, host.negatives, host.rel))
        torch.cuda.current_stream(self._device).synchronize()
        return DeviceBatch(sampled, src, dst, negatives, rel)
