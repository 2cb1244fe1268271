"""Show how far training is, by a bar over all epochs, and estimate the time that is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tqdm import tqdm

from marius_lite.log import bars, shows_bars

UNKNOWN = "?"
"""The time that is left, where nothing says it yet."""


class Progress:
    """Counts the items trained in all epochs, and shows a bar of them on standard error where `log.shows_bars`.

    ``items``: those of one epoch. ``unit``: what they are called. ``done``: how many were trained before, in all epochs.
    ``first``: how many of the first epochs take which part of the time of the others.
    """

    def __init__(self, items: int, unit: str, epochs: int, done: int, first: tuple[int, float] = (0, 1.0)):
        self._epochs, self._total, self._before, self._done = epochs, items * epochs, done, done
        self._lighter, self._share = first[0] * items, first[1]
        self._bar = bars()(
            total=self._total,
            initial=done,
            unit=f" {unit}",
            unit_scale=True,
            file=sys.stderr,
            disable=not shows_bars(),
            mininterval=0.5,
            dynamic_ncols=True,
        )
        self._start = time.perf_counter()

    def batch(self, epoch: int, items: int, mean_loss: float, waited: Callable[[], float]) -> None:
        """Count the ``items`` of a batch. ``waited``: seconds of waiting for I/O so far, asked for where a bar is shown."""
        self._done += items
        if self._bar.disable:
            return
        share = waited() / max(time.perf_counter() - self._start, 1e-9)
        self._bar.set_postfix_str(
            f"epoch {epoch + 1} of {self._epochs}, loss {mean_loss:.4f}, waiting for I/O {share:.0%}", refresh=False
        )
        self._bar.update(items)

    def left(self) -> str:
        """Return the time that the rest takes at the speed so far, as in 1:02:03. Before anything is trained it is UNKNOWN.

        The speed includes evaluations and checkpoints.
        """
        if self._done == self._before:
            return UNKNOWN
        each = (time.perf_counter() - self._start) / (self._weight(self._done) - self._weight(self._before))
        return tqdm.format_interval(each * max(self._weight(self._total) - self._weight(self._done), 0))

    def _weight(self, items: int) -> float:
        """Return the time of the run's first ``items``, in those of later epochs."""
        lighter = min(items, self._lighter)
        return lighter * self._share + items - lighter

    def close(self) -> None:
        self._bar.close()
