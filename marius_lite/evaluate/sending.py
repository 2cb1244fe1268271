"""Send arrays to where scores are computed, without waiting for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch


def sent(array: npt.NDArray[Any], device: torch.device) -> torch.Tensor:
    """Return ``array`` on ``device``: on the CPU the same memory, elsewhere a copy.

    A copy out of pageable memory would wait until the GPU has done all that it was asked for before. Torch keeps pinned memory
    until its copy is done.
    """
    if device.type == "cpu":
        return torch.from_numpy(array)
    return torch.from_numpy(np.ascontiguousarray(array)).pin_memory().to(device, non_blocking=True)
