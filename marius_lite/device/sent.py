"""Batches that are sent to a device: their rows, their arrays, and the work that learns from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import torch

from marius_lite.device.arrived import ArrivedBatch, Learn, Learned
from marius_lite.device.packet import Sent
from marius_lite.device.rows import TablePart


@dataclass(frozen=True)
class Repeated:
    """The work of a batch on a device, where it can be repeated.

    ``alike``: equal for batches whose work is the same but for the numbers that arrive with them. ``seed``: seeds what the batch
    draws, from ``generators``. ``learn``: puts the work on the computing stream. ``repeated``: does what the host does of
    ``learn`` where the device repeats it for so many batches, or takes that back (negative).
    """

    alike: Hashable
    seed: Callable[[], None]
    learn: Callable[[ArrivedBatch], Learned]
    repeated: Callable[[int], None]
    generators: Sequence[torch.Generator]


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch on its way to the device. ``parts``: its rows, of each table. ``arrays``: what else ``work`` needs, by name."""

    parts: Sequence[TablePart]
    arrays: Mapping[str, Sent]
    work: Repeated | Learn

    @property
    def whole(self) -> bool:
        """Whether a graph may have in it what is done with the rows before and behind ``work``."""
        return bool(self.parts) and all(part.whole for part in self.parts)

    @property
    def alike(self) -> Hashable:
        """Equal for batches with which a graph does the same; None where no graph may."""
        if not isinstance(self.work, Repeated):
            return None
        named = ((name, each.bytes, each.dtype) for name, each in self.arrays.items())
        return (self.work.alike, *(part.alike for part in self.parts), *named)

    @property
    def read(self) -> list[Sent]:
        """The arrays that a graph reads."""
        rows = (sent for part in self.parts for sent in part.sent.each) if self.whole else ()
        return [*self.arrays.values(), *rows]

    def moved(self, moved: Callable[[Sent], Sent]) -> SentBatch:
        """Return the batch with its arrays where ``moved`` says; where it is whole, the parts have blocks of their own, too."""
        parts = [part.elsewhere(moved) for part in self.parts] if self.whole else self.parts
        return SentBatch(parts, {name: moved(each) for name, each in self.arrays.items()}, self.work)

    def learned(self, values: Sequence[torch.Tensor] | None = None) -> Learned:
        """Learn from the batch. ``values``: those of each table at the batch's places; None: its parts have them.

        The loss is float64 (1,), the gradients as of `Learn`.
        """
        learn = self.work.learn if isinstance(self.work, Repeated) else self.work
        arrived = [part.values() for part in self.parts] if values is None else list(values)
        loss, grads = learn(ArrivedBatch(arrived, self.arrays))
        return loss.to(torch.float64).view(1), grads

    def trained(self) -> torch.Tensor:
        """Learn from the batch, and update its rows. Returns the loss, float64 (1,)."""
        loss, grads = self.learned()
        self.update(grads)
        return loss

    def update(self, grads: Sequence[torch.Tensor]) -> None:
        """Step the rows by the gradients at their places."""
        for part in self.parts:
            part.update(grads)


def span_of(batches: Sequence[SentBatch]) -> tuple[int, int]:
    """Where the arrays that a graph reads begin on the device, and how many bytes they take from there on.

    They lie side by side.
    """
    arrays = [each for batch in batches for each in batch.read]
    if not arrays:
        return 0, 0
    first = min(each.device for each in arrays)
    return first, max(each.device + each.bytes for each in arrays) - first
