"""What the link gives at best, found by a kernel that is not ours; and how many bytes pass over it for a row."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import torch
from on_device import Buffer, Clock, idle

from marius_lite.device.accelerator import Accelerator

SECTOR = 32
"""Bytes that a GPU reads of memory at least, from a multiple of as many on."""
REPLY, AROUND = 128, 20
"""Bytes that a reply over the link carries at most here, and that PCIe sends around them: framing, header and checksum."""
PARTS = (16, 4, 1)
"""Into how many parts a transfer is cut: torch chooses its blocks by the size."""


class Mapped:
    """A pinned buffer as the device sees it, for torch to take. It keeps the buffer alive."""

    def __init__(self, buffer: Buffer):
        self.buffer = buffer

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        shape = (len(self.buffer.bytes) // 4,)
        return {"shape": shape, "typestr": "<i4", "data": (self.buffer.pinned.address, False), "version": 3, "strides": None}


def mapped(accelerator: Accelerator, buffer: Buffer) -> torch.Tensor:
    """The buffer's bytes as int32 of the device: its kernels read them over the link. No copy."""
    if accelerator.device.type == "cpu":
        return torch.from_numpy(buffer.bytes).view(torch.int32)
    seen = torch.as_tensor(Mapped(buffer), device=accelerator.device)
    if seen.data_ptr() != buffer.pinned.address:
        raise SystemExit("torch has copied the pinned buffer instead of taking it: its kernel would not read over the link")
    return seen


def torch_reads(accelerator: Accelerator, buffer: Buffer, clock: Clock, transfer: int) -> dict[str, float]:
    """GB/s at which torch's own elementwise kernel reads the buffer, by what it reads; each goes on where one ended."""
    found = {}
    source = mapped(accelerator, buffer)
    for kind in (torch.int32, torch.int64):
        for parts in PARTS:
            each = max(1, min(transfer, len(buffer.bytes)) // parts // kind.itemsize)
            starts = cycle(range(0, len(buffer.bytes) // kind.itemsize - each + 1, each))
            target = torch.empty(each, dtype=kind, device=accelerator.device)

            def read(kind: torch.dtype = kind, each: int = each, starts: cycle = starts, target: torch.Tensor = target) -> None:
                start = next(starts)
                part = source.view(kind)[start : start + each]
                accelerator.computing.run(lambda: torch.bitwise_not(part, out=target))

            seconds = clock.time(read).seconds
            found[f"{each * kind.itemsize >> 10:,} KiB as {8 * kind.itemsize} bits"] = each * kind.itemsize / seconds / 1e9
            _check(accelerator, source.view(kind)[:each], target)
    return found


def _check(accelerator: Accelerator, part: torch.Tensor, target: torch.Tensor) -> None:
    accelerator.computing.run(lambda: torch.bitwise_not(part, out=target))
    idle(accelerator)
    host = part[:: max(1, len(part) // 1000)].cpu()
    if not torch.equal(target[:: max(1, len(part) // 1000)].cpu(), ~host):
        raise SystemExit("torch's kernel has read other bytes than the buffer's: no time of this run means anything")


def passing(width: int, offset: int = 0) -> tuple[float, float]:
    """(bytes that pass for a row, in whole sectors; replies that carry them), on average over the places where rows begin.

    The table begins ``offset`` bytes behind a multiple of `REPLY`, its rows of ``width`` bytes follow one another.
    """
    begin = (offset + width * np.arange(REPLY)) % REPLY  # behind so many rows the places come again

    def touched(size: int) -> float:
        return float((-(-(begin + width) // size) - begin // size).mean())

    return SECTOR * touched(SECTOR), touched(REPLY)


def described(width: int, offset: int, share: float) -> str:
    """What passes for rows of which a gather had ``share`` of the bytes a second of the best read, and what share that is."""
    bytes_, replies = passing(width, offset)
    whole = share * bytes_ / width
    around = share * (bytes_ + AROUND * replies) / width / ((REPLY + AROUND) / REPLY)
    told = f"{bytes_:.4g} B pass a row: {whole:.2f} of the best read"
    return f"{told}; with {AROUND} B around each of {replies:.3g} replies {around:.2f}"
