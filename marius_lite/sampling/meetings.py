"""Say how often the partitions of a step meet, so that scores can be corrected for it.

Two partitions meet in each step in which both are resident. Their edges are trained in one of these steps, but in all of them
their nodes are among the negatives of each other. A partition meets itself whenever it is resident, most others once in an epoch.
So models learn that answers are seldom in the query's own partition, which is wrong: partitions are drawn at random.

Where partitions meet n times in an epoch, a step where they do so trains 1 / n of their edges, in the mean. With log(n) taken
from the scores of each with the other, of answers as of negatives, the loss is that of an answer among all that the step has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite.types import EpochPlan


@dataclass(frozen=True, slots=True)
class StepMeetings:
    """Of a step. Partitions that meet all others equally often are of one class.

    ``classes``: that of each resident partition, in their order, int64. ``taken``: what is
    subtracted from the score of a node of class i with one of class j, float32 (classes, classes), symmetric.
    """

    classes: npt.NDArray[np.int64]
    taken: npt.NDArray[np.float32]


class PlannedMeetings:
    """How often partitions meet in the epochs of a run, by their plans."""

    def __init__(self, plan: Callable[[int], EpochPlan]):
        self._plan, self._epoch = plan, -1
        self._resident: list[tuple[int, ...]] = []
        self._counts = np.zeros((0, 0), np.int32)

    def of(self, epoch: int, step: int) -> StepMeetings | None:
        """Return those of a step. None where all its partitions meet equally often: nothing has to be corrected."""
        if epoch != self._epoch:
            plan = self._plan(epoch)
            self._resident = [each.resident for each in plan.steps]
            self._counts = np.zeros((plan.partitions, plan.partitions), np.int32)
            for resident in self._resident:
                self._counts[np.ix_(resident, resident)] += 1
            self._epoch = epoch
        resident = self._resident[step]
        rows, first, classes = np.unique(self._counts[np.ix_(resident, resident)], axis=0, return_index=True, return_inverse=True)
        if len(rows) == 1:
            return None
        return StepMeetings(classes.reshape(-1).astype(np.int64), np.log(rows[:, first]).astype(np.float32))
