"""One of several lanes of a run: its steps in a round, batch after batch."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from marius_lite.ordering.lanes import kept
from marius_lite.pipeline.batches import Finished, run
from marius_lite.sampling.windows import Window
from marius_lite.train.parts import Parts
from marius_lite.types import Step


class Lane:
    """Trains its steps of a round. ``weights``: the weights that all lanes change together. ``stop``: whether a signal came."""

    def __init__(self, parts: Parts, stop: Callable[[], bool]):
        assert parts.shared is not None
        self.parts, self.weights, self._stop = parts, parts.shared, stop
        self._own: set[int] = set()
        self._prefetch = parts.config.storage.prefetch
        self._trained: Generator[Finished, None, None] | None = None

    def batches(self, steps: Sequence[Step]) -> int:
        """Return how many batches the steps make."""
        return sum(self.parts.work.windows(step)[-1].end for step in steps)

    def edges_before(self, steps: Sequence[Step], batch: int) -> int:
        """Return how many edges the first ``batch`` batches of the steps have."""
        edges = 0
        for step in steps:
            windows = self.parts.work.windows(step)
            edges += sum(window.before(batch) for window in windows)
            batch -= windows[-1].end
        return edges

    def begin(self, epoch: int, steps: Sequence[Step], batch: int) -> None:
        """Begin a round with a batch of its steps, counted through all of them."""
        self._trained = self._round(epoch, steps, batch)
        self._own = {k for step in steps for k in step.resident}

    def train_batch(self) -> Finished | None:
        """Train the next batch and update its rows. What it learned of the weights is in ``weights.taken``. None: no more."""
        assert self._trained is not None
        return next(self._trained, None)

    def end(self) -> None:
        """End the round, also in the middle of it."""
        if self._trained is not None:
            self._trained.close()
            self._trained = None

    def hand_over(self, following: Sequence[Step]) -> dict[int, int]:
        """Write the changed partitions that are not this lane's in the ``following`` round, and keep the others as they are.

        Returns the checksums of the files of those that were the round's and are given up.
        """
        rows = self.parts.work.rows
        stay = kept(rows.resident, following)
        checksums = rows.keep(stay)
        return {k: checksums[k] for k in self._own.difference(stay) if k in checksums}

    def flush(self) -> dict[int, int]:
        """Write the changed partitions. Returns the checksums of the files of those that are or were the round's."""
        checksums = self.parts.work.flush()
        if self._trained is not None:  # the round goes on, and changes them again
            self.parts.work.rows.mark_changed()
        return {k: checksums[k] for k in self._own if k in checksums}

    def _round(self, epoch: int, steps: Sequence[Step], batch: int) -> Generator[Finished, None, None]:
        work, left = self.parts.work, batch
        for step, after in zip(steps, [*steps[1:], None]):
            windows = work.windows(step)
            if left < windows[-1].end or after is None:
                work.enter(step, after if self._prefetch else None)
                ahead = [*windows[1:], *(work.windows(after)[:1] if after else [])]
                for window, following in zip(windows, [*ahead, None]):
                    if left < window.end:
                        yield from self._window(epoch, window, following, max(left, window.first_batch))
            left -= min(left, windows[-1].end)

    def _window(self, epoch: int, window: Window, following: Window | None, batch: int) -> Generator[Finished, None, None]:
        opened = self.parts.work.open(epoch, window, following)
        # Closed whatever happens: the thread that prepares batches must end before the rows that it reads go.
        trained = run(opened.batches(batch), self.parts.work.stages(), 0, lambda: False, self._stop)
        with closing(trained):
            yield from trained
