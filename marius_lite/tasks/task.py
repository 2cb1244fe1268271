"""What a task is: it says what is trained and how that is measured. All else about a run is the same for every task.

A `Task` describes. The `Learning` that it makes for a run knows what is resident. A new task is a module with both, and a line
in `config.tasks.TASKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt
import pyarrow as pa

from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.device.chooser import Load
from marius_lite.encode.representation import Representation
from marius_lite.graph.dataset import Dataset
from marius_lite.rows.batch import Learns, PreparedBatch
from marius_lite.rows.resident import ResidentRows
from marius_lite.sampling.windows import Upcoming, Window
from marius_lite.tasks.checkpoint import Checkpoint
from marius_lite.types import Batch, Ids, Step

Batches = Callable[[int], Iterator[Batch]]
"""The batches of a window from an index in its step on."""


@dataclass(frozen=True)
class Setting:
    """What a run has before it trains: ``config`` without ``auto``, its ``memory``, and the run's ``folder``."""

    dataset: Dataset
    config: Config
    memory: MemoryPlan
    folder: Path


class OpenWindow(Protocol):
    """A window whose items are in memory."""

    @property
    def window(self) -> Window: ...

    def batches(self, start: int) -> Iterator[Batch]:
        """Return its batches, from index ``start`` of the step on."""

    def touched(self) -> Ids:
        """Return ids of its nodes, or of a sample of them. Each stands there about as often as batches touch it."""


class Learning(Learns, Protocol):
    """What a task does in a run. It moves no rows: `train.work.Work` makes them resident before it is called.

    A device can repeat the work of some batches where it is `Repeatable` too.
    """

    items: int
    """Edges or nodes trained in an epoch."""

    def enter(self, step: Step) -> None:
        """Take note that a step's partitions are resident now."""

    def windows(self, step: Step) -> list[Window]:
        """Return the windows of a step, in order."""

    def open(self, epoch: int, window: Window, following: Upcoming | None) -> OpenWindow:
        """Return a window once its items are in memory. Those of the one opened next are read meanwhile."""

    def later(self, epoch: int) -> Iterable[Batch]:
        """Return the batches of the epochs behind this one, in order, as far as they are known before a window is opened.

        It runs in the thread of `prepare`.
        """

    def foresee(self, batches: Sequence[Any]) -> None:
        """Take note of the batches that are prepared next, in order. What they need may be drawn together.

        It runs in the thread of `prepare`. Not every batch is foreseen.
        """

    def prepare(self, batch: Any) -> PreparedBatch[Any]:
        """Draw what a batch needs. It follows from the batch and from what is resident alone.

        It runs in a thread of its own, ahead of training.
        """

    def evaluate(self) -> dict[str, Any]:
        """Return the figures that ``config.evaluation`` asks for. It may change what is resident."""

    def close(self) -> None: ...


Columns = dict[str, npt.NDArray[Any]]
"""What an export has beside raw ids. The first is the main column, (m, width); others are (m,), or (m, width) truth values."""
Blocks = Iterator[tuple[pa.Array, Columns]]
"""Raw ids and the columns beside them, block after block."""


@dataclass(frozen=True)
class Exported:
    """What a task exports. ``tables``: each table's name, blocks and number of rows. ``facts``: what else the summary says.

    ``names``: for each column whose numbers stand for names, the names by number. ``probabilities``: whether the main column has
    these: they are compared by their logarithms.
    """

    tables: Sequence[tuple[str, Blocks, int]]
    names: Mapping[str, Sequence[str]]
    facts: dict[str, Any]
    probabilities: bool = False


class Task(Protocol):
    """What is trained and how that is measured, before and after a run."""

    def make_model(self, dataset: Dataset, config: Config, trains: bool) -> Any:
        """Return the model, a `torch.nn.Module`, with its first weights, which follow from the run's seed, on the CPU.

        Its weights are trained and kept, those of its ``encoder`` (None where it has none) among them.
        """

    def loads(self, dataset: Dataset, config: Config) -> list[Load]:
        """Return how many rows the steps of the first epoch touch."""

    def leaks(self, dataset: Dataset, split: str | None = None) -> list[str]:
        """Return what makes figures on ``split`` look better than they are, one line each. None: on any split."""

    def evaluate(self, checkpoint: Checkpoint, split: str, exclude_self: bool | None) -> dict[str, Any]:
        """Return the figures of a whole split with a checkpoint's model, and warn of what makes them doubtful."""

    def exported_width(self, checkpoint: Checkpoint) -> int:
        """Return how many numbers of a node are exported."""

    def exported(self, checkpoint: Checkpoint) -> AbstractContextManager[Exported]:
        """Open what is exported of a checkpoint."""

    def learning(self, setting: Setting, rows: ResidentRows, representation: Representation, model: Any) -> Learning:
        """Return the task within a run, over its rows and their representation."""
