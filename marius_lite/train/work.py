"""What a run trains, as the loop sees it: steps, windows, batches, and the rows that they change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from marius_lite.pipeline.batches import Stages, Streamed
from marius_lite.sampling.windows import Window
from marius_lite.types import Batch, EpochPlan, Step


class OpenWindow(Protocol):
    """A window whose items are in memory."""

    @property
    def window(self) -> Window: ...

    def batches(self, start: int) -> Iterator[Batch]:
        """Its batches from index ``start`` of the step on."""

    def stages(self) -> Stages[Any, Any, Any, Any] | Streamed[Any, Any]:
        """Stages for one run of the pipeline over its batches."""


class Work(Protocol):
    items: int
    """Edges or nodes trained in an epoch."""

    def plan(self, epoch: int) -> EpochPlan: ...

    def enter(self, step: Step, after: Step | None) -> None:
        """Make a step's partitions resident, and begin to load the next step's."""

    def windows(self, step: Step) -> list[Window]:
        """The windows of a step, in order."""

    def open(self, epoch: int, window: Window, following: Window | None) -> OpenWindow:
        """Wait for a window's items; those of the ``following`` one are read meanwhile."""

    def initialise(self) -> dict[int, int]:
        """Make the first rows; checksums of their files."""

    def flush(self) -> dict[int, int]:
        """Write what was changed; checksums of the files. What is resident stays."""

    def evaluate(self) -> dict[str, Any]: ...

    def counters(self) -> dict[str, float]:
        """What the buffers read, wrote and waited so far."""

    def close(self) -> None: ...
