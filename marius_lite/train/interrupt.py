"""SIGINT and SIGTERM: once finishes the batch, writes a checkpoint and stops; twice stops at once."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType

from marius_lite.errors import MariusError

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(MariusError):
    """The run stopped at a checkpoint because of a signal; ``exit_code`` is 128 + its number."""

    def __init__(self, signum: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signum


class Interrupt:
    """Notes the first signal while its block runs; outside the main thread signals are left alone."""

    def __init__(self) -> None:
        self.signum: int | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for signum in SIGNALS:
                self._before[signum] = signal.signal(signum, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)  # type: ignore[arg-type]

    def _note(self, signum: int, frame: FrameType | None) -> None:
        if self.signum is not None:
            os._exit(128 + signum)
        self.signum = signum
