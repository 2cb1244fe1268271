"""What the loop trains: a task, the rows that it changes, and the representation that makes vectors of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from marius_lite.config.schema import Config
from marius_lite.encode.representation import Representation
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.optim.dense import Steps
from marius_lite.pipeline.batches import Stages, Streamed
from marius_lite.rows.batch import Learner
from marius_lite.rows.first_rows import RowsToFill, initialise
from marius_lite.sampling.windows import Upcoming, Window
from marius_lite.storage.buffer import PastTransfer
from marius_lite.tasks.task import Learning, OpenWindow
from marius_lite.types import EpochPlan, Step


class Work:
    """What a run trains, step by step. ``plan`` gives the plan of an epoch. ``items``: edges or nodes trained in an epoch.

    ``saves_under_way``: whether a checkpoint may be saved between two batches while others are on their way.
    """

    def __init__(
        self,
        config: Config,
        plan: Callable[[int], EpochPlan],
        learning: Learning,
        representation: Representation,
        optimizer: Steps,
    ):
        self.plan, self.items = plan, learning.items
        self._config, self._learning, self._representation = config, learning, representation
        self._learner = Learner(learning, optimizer, config.training.device_graphs)
        self.rows = representation.rows
        # Batches that are only sampled or gathered ahead have changed nothing yet.
        self.saves_under_way = self.rows.learned is None and config.training.staleness == 0 and config.device == "cpu"

    def initialise(
        self, edges: EdgeBuckets | None = None, mixed: RowsToFill | None = None, before: RowsToFill | None = None
    ) -> dict[int, int]:
        """Make the first rows. Returns the checksums of their files by partition; none where no rows are learned.

        ``edges``: the training edges, with whose counts biases begin. ``mixed``, ``before``: see `initialise` of rows.
        """
        learned = self.rows.buffers.learned
        return initialise(learned, self._config, edges, mixed, before) if learned else {}

    def enter(self, step: Step, after: Step | None) -> None:
        """Make a step's partitions resident, and begin to load those of the step ``after`` it."""
        following = step.following(after)
        self.rows.enter(step.resident, following)
        self._representation.enter(following)
        self._learning.enter(step)

    def windows(self, step: Step) -> list[Window]:
        """Return the windows of a step, in order."""
        return self._learning.windows(step)

    def windows_in_turn(self, epoch: int, step: Step, after: Step | None) -> Iterator[tuple[Window, Upcoming | None]]:
        """Yield each window of a step with what is opened next, which may be the first window of the step ``after``."""
        windows = self.windows(step)
        ahead = [(epoch, window) for window in windows[1:]]
        if after is not None:  # behind an epoch's last step comes the first one of the next
            ahead += [(epoch + (after.index <= step.index), window) for window in self.windows(after)[:1]]
        return zip(windows, [*ahead, None])

    def open(self, epoch: int, window: Window, following: Upcoming | None) -> OpenWindow:
        """Return a window once its items are in memory. Those of the one opened next are read meanwhile."""
        opened = self._learning.open(epoch, window, following)
        self.rows.cache_most_touched(lambda: self._representation.touched(opened.touched()))
        self.rows.comes_next(partial(self._learning.later, epoch))
        return opened

    def stages(self) -> Stages[Any, Any, Any, Any] | Streamed[Any, Any, Any]:
        """Return the stages for one run of the pipeline over batches. It changes the resident rows."""
        self.rows.mark_changed()
        return self.rows.pipeline(self._learning.prepare, self._learner, self._learning.foresee)

    def flush(self) -> dict[int, int]:
        """Write the changed partitions. Returns the checksums of their files. What is resident stays."""
        return self.rows.flush()

    def expect(self, checksums: Mapping[int, int]) -> None:
        """Take note of the checksums of partitions' files that others have written."""
        if self.rows.buffers.learned:
            self.rows.buffers.learned.expect(checksums)

    def evaluate(self) -> dict[str, Any]:
        """Return the figures that ``config.evaluation`` asks for."""
        return self._learning.evaluate()

    def counters(self) -> dict[str, float]:
        """Return what the buffers read, wrote and waited so far, and what was sampled."""
        return {**self.rows.counters(), **self._representation.counters()}

    def take_past(self) -> list[PastTransfer]:
        """Return the loads and writes of partitions that ended since the last call."""
        return self.rows.take_past()

    def close(self) -> None:
        """Close all parts, the rows last. If one fails, the others are closed all the same."""
        self.rows.comes_next(tuple)  # else they would hold the task, which holds them, and with it the dataset
        with ExitStack() as stack:
            for part in (self.rows, self._learning, self._representation):
                stack.callback(part.close)
