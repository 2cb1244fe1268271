"""Runs that are stopped on their way."""

import os
import signal
from contextlib import contextmanager


@contextmanager
def stops_after(monkeypatch, *batches):
    """SIGTERM comes after these batches, counted through all runs of the block."""
    from marius_lite.train.meter import Meter

    batch, seen = Meter.batch, []

    def interrupted(self, *arguments):
        batch(self, *arguments)
        seen.append(1)
        if len(seen) in batches:
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(Meter, "batch", interrupted)
        yield
