"""What a task is: what it trains and how it measures; everything else about a run is the same for all.

A `Task` describes; the `Learning` that it opens for a run knows what is resident. A new task is a module with both, and a line in
`tasks.TASKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.device.chooser import Load
from marius_lite.encode.representation import Representation
from marius_lite.graph.dataset import Dataset
from marius_lite.rows.batch import Arrived, PreparedBatch
from marius_lite.rows.resident import ResidentRows
from marius_lite.sampling.windows import Window
from marius_lite.tasks.checkpoint import Checkpoint
from marius_lite.types import Batch, Step

Ids = npt.NDArray[np.int64]
Batches = Callable[[int], Iterator[Batch]]
"""The batches of a window from an index in its step on."""


@dataclass(frozen=True)
class Setting:
    """What every part of a run is made of: ``config`` without ``auto``, its ``memory``, and the run's ``folder``."""

    dataset: Dataset
    config: Config
    memory: MemoryPlan
    folder: Path


class OpenWindow(Protocol):
    """A window whose items are in memory."""

    @property
    def window(self) -> Window: ...

    def batches(self, start: int) -> Iterator[Batch]:
        """Its batches from index ``start`` of the step on."""

    def touched(self) -> Ids:
        """Ids of its nodes, or of some of them, each as often as batches touch it, roughly."""


class Learning(Protocol):
    """What a task does in a run, between two batches and within one. Rows and what surrounds them follow by themselves."""

    items: int
    """Edges or nodes trained in an epoch."""

    def enter(self, step: Step) -> None:
        """A step's partitions are resident now."""

    def windows(self, step: Step) -> list[Window]:
        """The windows of a step, in order."""

    def open(self, epoch: int, window: Window, following: Window | None) -> OpenWindow:
        """Wait for a window's items; those of the ``following`` one are read meanwhile."""

    def prepare(self, batch: Any) -> PreparedBatch[Any]:
        """Draw what a batch needs. In a thread of its own, ahead of training: a function of the batch and of what is resident."""

    def gradients(self, prepared: PreparedBatch[Any], arrived: Arrived) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        """The mean loss, and the gradients of the learned rows at the prepared places, in parts end to end. Weights have theirs
        in ``.grad``. Nothing waits for a device."""

    def evaluate(self) -> dict[str, Any]:
        """What ``config.evaluation`` asks for; it may use the buffers."""

    def close(self) -> None: ...


Columns = dict[str, npt.NDArray[Any]]
"""What is written beside ids: the first is the main one, (m, width); others are (m,), or (m, width) truth values."""
Blocks = Iterator[tuple[pa.Array, Columns]]
"""Raw ids and what is written beside them, block after block."""


@dataclass(frozen=True)
class Exported:
    """``tables``: name, blocks and rows of each; ``names``: of columns whose numbers stand for names, the names by number;
    ``facts``: what else the summary says."""

    tables: Sequence[tuple[str, Blocks, int]]
    names: Mapping[str, Sequence[str]]
    facts: dict[str, Any]


class Task(Protocol):
    def make_model(self, dataset: Dataset, config: Config, trains: bool) -> Any:
        """Return the model, a `torch.nn.Module`, with its first weights, which follow from the run's seed, on the CPU.

        Its weights are trained and kept, those of its ``encoder`` (None where it has none) among them.
        """

    def input_dropout(self, config: Config) -> float:
        """Share of the numbers that an encoder begins with to set to zero."""

    def loads(self, dataset: Dataset, config: Config) -> list[Load]:
        """Rows that the steps of the first epoch touch."""

    def leaks(self, dataset: Dataset, split: str | None = None) -> list[str]:
        """What makes figures on ``split``, or any, better than they are, one line each."""

    def evaluate(self, checkpoint: Checkpoint, split: str, exclude_self: bool | None) -> dict[str, Any]:
        """Figures of all of a split with a checkpoint's model; says what is doubtful about them."""

    def exported_width(self, checkpoint: Checkpoint) -> int:
        """Numbers of a node in what is exported."""

    def exported(self, checkpoint: Checkpoint) -> AbstractContextManager[Exported]:
        """What a checkpoint has of every node."""

    def learning(self, setting: Setting, rows: ResidentRows, representation: Representation, model: Any) -> Learning: ...
