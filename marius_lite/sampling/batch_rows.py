"""Find the different rows that a batch touches: these move between the host's buffer and a device.

A row that one of the batches just before also touches may not be back in the host's buffer when this batch is gathered. Such rows
are found too, so that the batch takes them from the earlier batch's block.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

import numpy as np
import numpy.typing as npt

from marius_lite._native import HeldRows, common_rows, inverse_of, sort_and_fill, sort_rows
from marius_lite.types import BatchRows, Rows

Places = npt.NDArray[np.int32]
NONE: Rows = np.empty(0, np.int64)
NOWHERE: Places = np.empty(0, np.int32)


class RowTracker:
    """Makes the BatchRows of one batch after another, while the same partitions are resident. Not for several threads at once.

    ``look_back``: how many earlier batches may still be under way. ``hot``: the rows that are cached on the device, ascending, in
    the order of the cache; or ``all``.
    """

    def __init__(self, look_back: int, hot: Rows | Literal["all"] = NONE):
        self._before: deque[Rows] = deque(maxlen=look_back)
        self._hot = hot

    def track(self, places: Rows) -> BatchRows:
        """The rows of the next batch. ``places``: the row at each place of the batch, int64 (m,)."""
        rows, order, starts = sort_rows(places)
        cold, hot = len(rows), NONE
        if isinstance(self._hot, str):
            return BatchRows(rows, 0, rows, inverse_of(order, starts), order, starts, ())
        if len(self._hot):
            positions, cached = common_rows(rows, self._hot)
            rows, order, starts = _last(rows, order, starts, positions)
            cold, hot = len(rows) - len(cached), cached.astype(np.int64)
        inverse = inverse_of(order, starts)
        again = self._again(rows[:cold])
        self._before.append(rows[:cold])
        return BatchRows(rows, cold, hot, inverse, order, starts, again)

    def _again(self, rows: Rows) -> tuple[tuple[int, Places, Places], ...]:
        """Where cold rows are in the batches just before, as `BatchRows.again` has it."""
        found = ((len(self._before) - k, *common_rows(before, rows)) for k, before in enumerate(self._before))
        return tuple(each for each in found if len(each[1]))


class FilledRows:
    """Makes the BatchRows of batches whose rows are all cached on the device. For several threads at once.

    ``spare``: rows of the cache that are no rows of the table. Batches are filled with these until they have a row for each
    place: so those with equally many places have equally many rows.
    """

    def __init__(self, spare: range):
        self._spare = spare

    def find(self, places: Rows) -> BatchRows:
        """The rows of a batch. ``places``: the row at each place, int64 (m,)."""
        rows, order, starts, inverse = sort_and_fill(places, self._spare.start, len(self._spare))
        return BatchRows(rows, 0, rows, inverse, order, starts, ())


class ReadRows:
    """Makes the BatchRows of batches that only read rows: no gradients are summed, and no earlier batch has changed them.

    For several threads at once. ``hot``: as for `RowTracker`.
    """

    def __init__(self, hot: Rows | Literal["all"] = NONE):
        self._hot = None if isinstance(hot, str) else HeldRows(hot)

    def divide(self, places: Rows) -> BatchRows:
        """The rows of a batch. ``places``: the row at each place, int64 (m,).

        Rows are in the order of places, those that are cached behind the others. The row of the first place is there once,
        however often it stands among the places: it also stands where a batch was padded. Where all rows are cached, there is
        one for every place.
        """
        if self._hot is None:
            return BatchRows(places, 0, places, NOWHERE, NOWHERE, NOWHERE, ())
        rows, hot, inverse = self._hot.divide(places)
        return BatchRows(rows, len(rows) - len(hot), hot, inverse, NOWHERE, NOWHERE, ())


def _last(rows: Rows, order: Places, starts: Places, chosen: Places) -> tuple[Rows, Places, Places]:
    """Move the rows at the ``chosen`` positions behind the others; each with its places, as `sort_rows` returns them."""
    mask = np.zeros(len(rows), bool)
    mask[chosen] = True
    moved = np.concatenate([np.flatnonzero(~mask), chosen])
    sizes = np.diff(starts)[moved]
    ends = np.cumsum(sizes, dtype=np.int64)
    places = np.arange(len(order)) + np.repeat(starts[moved] - (ends - sizes), sizes)
    return rows[moved], order[places], np.concatenate([[0], ends]).astype(np.int32)
