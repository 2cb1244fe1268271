"""SIGINT, SIGTERM and SIGHUP: the first finishes the batch, writes a checkpoint and stops; the second stops at once."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from types import FrameType, TracebackType

from marius_lite.errors import MariusError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_pressed = threading.Event()


def remember_ctrl_c() -> None:
    """Make SIGINT known to `ctrl_c_pressed` from now on. It still raises KeyboardInterrupt, but Python drops it in callbacks.

    During an import it ends the process instead: libraries that are being loaded drop the exception, raise errors of their own
    for it, or abort.
    """

    def interrupt(signum: int, frame: FrameType | None) -> None:
        _pressed.set()
        if any(caller.f_code.co_filename.startswith("<frozen importlib") for caller, _ in traceback.walk_stack(frame)):
            os.write(2, b"marius-lite: stopped\n")  # print may be at work already
            os._exit(128 + signum)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as by a shell's `&`
        signal.signal(signal.SIGINT, interrupt)


def ctrl_c_pressed() -> bool:
    """Return whether SIGINT came since `remember_ctrl_c`."""
    return _pressed.is_set()


class Interrupted(MariusError):
    """Raised when a signal has stopped a run at a checkpoint. ``exit_code`` is 128 + the signal's number."""

    def __init__(self, signum: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signum

    def __reduce__(self) -> tuple[type[Interrupted], tuple[int, str]]:
        return Interrupted, (self.exit_code - 128, str(self))


class Interrupt:
    """Notes in ``signum`` the first signal while its block runs, or a Ctrl-C before it. Outside the main thread it does nothing.

    A thread reads signals from Python's wake-up descriptor. So they count at once, even while the main thread waits in native
    code.
    """

    def __init__(self) -> None:
        self.signum: int | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            import socket  # the help of commands needs none

            self.signum = signal.SIGINT if ctrl_c_pressed() else None
            self._signals, self._wakeup = socket.socketpair()
            self._wakeup.setblocking(False)
            self._fd_before = signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
            self._before = {
                signum: signal.signal(signum, lambda *_: None)
                for signum in SIGNALS
                if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN
            }  # nohup ignores it
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._before:
            for signum, handler in self._before.items():
                signal.signal(signum, handler)  # type: ignore[arg-type]
            signal.set_wakeup_fd(self._fd_before)
            self._wakeup.close()
            self._watcher.join()
            self._signals.close()

    def _watch(self) -> None:
        while number := self._signals.recv(1):
            if number[0] in SIGNALS:
                self._note(number[0])

    def _note(self, signum: int) -> None:
        if self.signum is not None:
            os._exit(128 + signum)
        self.signum = signum
