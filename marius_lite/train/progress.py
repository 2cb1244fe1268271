"""The progress bar of training: loss, edges per second, share of time spent waiting for I/O, time to go."""

from __future__ import annotations

import sys
import time

from tqdm import tqdm


class Progress:
    """A bar over the edges of all epochs, on standard error; silent when ``enabled`` is False."""

    def __init__(self, edges_per_epoch: int, epochs: int, done: int, enabled: bool):
        self._bar = tqdm(total=edges_per_epoch * epochs, initial=done, unit=" edges", unit_scale=True, file=sys.stderr,
                         disable=not enabled, mininterval=0.5, dynamic_ncols=True)
        self._start = time.perf_counter()

    def batch(self, epoch: int, edges: int, mean_loss: float, waited: float) -> None:
        share = waited / max(time.perf_counter() - self._start, 1e-9)
        self._bar.set_postfix_str(f"epoch {epoch} loss {mean_loss:.4f} waiting for I/O {share:.0%}", refresh=False)
        self._bar.update(edges)

    def say(self, line: str) -> None:
        """A line above the bar."""
        if not self._bar.disable:
            self._bar.write(line, file=sys.stderr)

    def close(self) -> None:
        self._bar.close()
