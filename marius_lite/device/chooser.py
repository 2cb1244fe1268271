"""From the name of a device to the device and its gather."""

from __future__ import annotations

from collections.abc import Callable

import torch

from marius_lite.device.cuda import StagedGather
from marius_lite.device.host import HostGather, Table
from marius_lite.errors import UserError
from marius_lite.types import DeviceBatch, SampledBatch

Gather = Callable[[SampledBatch], DeviceBatch]


def open_device(name: str) -> torch.device:
    """``cpu``, ``cuda`` or ``cuda:N``. Raises UserError for a GPU that is not there."""
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise UserError(f"`device` is {name}, but torch {torch.__version__} finds no CUDA device: "
                            "use `device: cpu`, or install a CUDA build of torch and its driver")
        if (device.index or 0) >= torch.cuda.device_count():
            raise UserError(f"`device` is {name}, but there are {torch.cuda.device_count()} CUDA devices")
    return device


def make_gather(device: torch.device, table: Table, dim: int, ring: int, threads: int) -> Gather:
    if device.type == "cuda":
        return StagedGather(table, dim, device, ring, threads)
    return HostGather(table, dim, ring, threads)
