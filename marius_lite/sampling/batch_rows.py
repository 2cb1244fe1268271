"""Which rows a batch touches, each once: what moves between the host's buffer and a device.

A row that one of the batches just before has also touched may not be back in the host's buffer when this one is gathered: such
rows are named, so that they are taken from where the earlier batch left them.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

import numpy as np
import numpy.typing as npt

from marius_lite._native import common_rows, sort_rows
from marius_lite.types import BatchRows, Rows

Places = npt.NDArray[np.int32]
NONE: Rows = np.empty(0, np.int64)
NOWHERE: Places = np.empty(0, np.int32)


class RowTracker:
    """Makes the BatchRows of successive batches, whose rows must keep their meaning; not for several threads at once.

    ``look_back``: how many batches before may still be under way. ``hot``: the rows that a table on the device holds,
    ascending, in that order; or ``all``, for a table that mirrors the host's.
    """

    def __init__(self, look_back: int, hot: Rows | Literal["all"] = NONE):
        self._before: deque[Rows] = deque(maxlen=look_back)
        self._hot = hot

    def track(self, places: Rows) -> BatchRows:
        """``places``: the row at each of the next batch's places, int64 (m,)."""
        rows, order, starts = sort_rows(places)
        cold, hot = len(rows), NONE
        if isinstance(self._hot, str):
            cold, hot = 0, rows
        elif len(self._hot):
            here, held = common_rows(rows, self._hot)
            rows, order, starts = _last(rows, order, starts, here)
            cold, hot = len(rows) - len(held), held.astype(np.int64)
        inverse = inverse_of(order, starts)
        again = tuple((len(self._before) - k, *common_rows(before, rows[:cold])) for k, before in enumerate(self._before))
        self._before.append(rows[:cold])
        return BatchRows(rows, cold, hot, inverse, order, starts, tuple(each for each in again if len(each[1])))


def read_rows(places: Rows, hot: Rows | Literal["all"] = NONE) -> BatchRows:
    """The rows, each once, of a batch that only reads them: nothing is summed, and no batch has newer ones.

    They stay in their order where none, or all, are held.
    """
    if not isinstance(hot, str) and len(hot):
        return RowTracker(0, hot).track(places)
    cold, held = (0, places) if isinstance(hot, str) else (len(places), NONE)
    return BatchRows(places, cold, held, NOWHERE, NOWHERE, NOWHERE, ())


def inverse_of(order: Places, starts: Places) -> Places:
    """The group of each place, (m,) int32, from what `sort_rows` gave."""
    inverse = np.empty(len(order), np.int32)
    inverse[order] = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    return inverse


def _last(rows: Rows, order: Places, starts: Places, chosen: Places) -> tuple[Rows, Places, Places]:
    """The same groups, those at the ``chosen`` positions moved behind the others."""
    mask = np.zeros(len(rows), bool)
    mask[chosen] = True
    moved = np.concatenate([np.flatnonzero(~mask), chosen])
    sizes = np.diff(starts)[moved]
    ends = np.cumsum(sizes, dtype=np.int64)
    places = np.arange(len(order)) + np.repeat(starts[moved] - (ends - sizes), sizes)
    return rows[moved], order[places], np.concatenate([[0], ends]).astype(np.int32)
