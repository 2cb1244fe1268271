"""Keep buffers from batch to batch. To allocate a new one of some MB costs more than to fill it."""

from __future__ import annotations

import math

import torch


class Workspace:
    """Scratch tensors by name. They grow when needed. Each stays valid until its name is asked for again."""

    def __init__(self) -> None:
        self._buffers: dict[str, torch.Tensor] = {}

    def tensor(self, name: str, shape: tuple[int, ...], device: torch.device, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return a contiguous tensor of ``shape`` with arbitrary content."""
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return torch.empty(shape, dtype=dtype, device=device)  # it belongs to the graph, which outlives larger buffers here
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.numel() < size or buffer.device != device or buffer.dtype != dtype:
            buffer = self._buffers[name] = torch.empty(size, dtype=dtype, device=device)
        return buffer[:size].view(shape)
