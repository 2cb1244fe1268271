"""One of several lanes of a run, or all of a process where they share its rows: its steps in a round, batch after batch."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import zip_longest

from marius_lite.ordering.lanes import kept
from marius_lite.pipeline.batches import Finished, run
from marius_lite.train.parts import Parts
from marius_lite.types import Batch, Step


class Lane:
    """Trains the steps that the lanes of its ``parts`` have in a round.

    Several lanes see the same partitions. They have a step each, and train in turn: a batch of the first, then one of the second.
    """

    def __init__(self, parts: Parts):
        self.parts = parts
        self._own: set[int] = set()
        self._prefetch = parts.config.storage.prefetch
        self._trained: Generator[Finished, None, None] | None = None

    def batches(self, steps: Sequence[Step]) -> int:
        """Return how many batches a lane's steps make."""
        return sum(self.parts.work.windows(step)[-1].end for step in steps)

    def edges_before(self, steps: Sequence[Step], batch: int) -> int:
        """Return how many edges the first ``batch`` batches of a lane's steps have."""
        edges = 0
        for step in steps:
            windows = self.parts.work.windows(step)
            edges += sum(window.before(batch) for window in windows)
            batch -= windows[-1].end
        return edges

    def begin(self, epoch: int, by_lane: Sequence[Sequence[Step]], batch: int) -> None:
        """Begin a round with a batch of each lane's steps, counted through all of them. ``by_lane``: the steps of all lanes."""
        own = [by_lane[lane] for lane in self.parts.lanes]
        self._trained = self._round(epoch, own[0], batch) if len(own) == 1 else self._in_turn(epoch, own, batch)
        self._own = {k for steps in own for step in steps for k in step.resident}

    def train_batch(self) -> Finished | None:
        """Train the next batch, of the next lane, and update its rows. None: its lane has no more."""
        assert self._trained is not None
        return next(self._trained, None)

    def end(self) -> None:
        """End the round, also in the middle of it."""
        if self._trained is not None:
            self._trained.close()
            self._trained = None

    def hand_over(self, following: Sequence[Sequence[Step]]) -> dict[int, int]:
        """Write the changed partitions that are not this lane's in the ``following`` round, and keep the others as they are.

        Returns the checksums of the files of those that were the round's and are given up.
        """
        rows = self.parts.work.rows
        stay = kept(rows.resident, [step for lane in self.parts.lanes for step in following[lane]])
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
            end = work.windows(step)[-1].end
            if left < end or after is None:
                work.enter(step, after if self._prefetch else None)
                for window, following in work.windows_in_turn(epoch, step, after):
                    if left < window.end:
                        opened = work.open(epoch, window, following)
                        yield from self._run(opened.batches(max(left, window.first_batch)))
            left -= min(left, end)

    def _in_turn(self, epoch: int, by_lane: Sequence[Sequence[Step]], batch: int) -> Generator[Finished, None, None]:
        """Train one step of each lane, all of one window. Lanes whose batches are fewer come last (`nodes_of_lane`)."""
        work, steps = self.parts.work, [step for steps in by_lane for step in steps]
        work.enter(steps[0], None)
        opened = [work.open(epoch, work.windows(step)[0], None) for step in steps]
        turns = zip_longest(*(each.batches(batch) for each in opened))
        yield from self._run(each for turn in turns for each in turn if each is not None)

    def _run(self, batches: Iterator[Batch]) -> Generator[Finished, None, None]:
        # Closed whatever happens: the thread that prepares batches must end before the rows that it reads go.
        with closing(run(batches, self.parts.work.stages(), 0, lambda: False)) as trained:
            yield from trained
