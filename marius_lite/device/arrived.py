"""A batch whose rows and arrays are on the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from marius_lite.device.packet import Sent

Learned = tuple[torch.Tensor, Sequence[torch.Tensor]]
"""A batch's loss, and the gradients at the places of the table that batches change, in parts that lie end to end.

Where batches change no table, there are no gradients.
"""


@dataclass(frozen=True, slots=True)
class ArrivedBatch:
    """A batch on the device: of each table the values at the batch's places, float32 (m, columns), and the batch's arrays."""

    values: list[torch.Tensor]
    arrays: Mapping[str, Sent]

    def tensor(self, name: str) -> torch.Tensor:
        return self.arrays[name].tensor

    def side_by_side(self) -> torch.Tensor:
        """The values of all tables, whose places are the same, in the columns of one tensor."""
        return self.values[0] if len(self.values) == 1 else torch.cat(self.values, 1)


Learn = Callable[[ArrivedBatch], Learned]
"""Computes a batch's loss and gradients."""
