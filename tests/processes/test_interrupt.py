import os
import signal
import subprocess
import sys
import time

import pytest

from marius_lite.processes.interrupt import SIGNALS, Interrupt


def noticed(interrupt):
    end = time.monotonic() + 5
    while interrupt.signum is None and time.monotonic() < end:
        time.sleep(0.01)
    return interrupt.signum


@pytest.mark.parametrize("signum", SIGNALS)
def test_each_signal_is_noted_and_handlers_come_back(signum):
    before = [signal.getsignal(each) for each in SIGNALS]
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signum)
        assert noticed(interrupt) == signum
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_hangup_that_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupt() as interrupt:
            os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(0.1)
            assert interrupt.signum is None
            os.kill(os.getpid(), signal.SIGTERM)
            assert noticed(interrupt) == signal.SIGTERM
    finally:
        signal.signal(signal.SIGHUP, before)


PRESSED_IN_A_CALLBACK = """
import os, signal, weakref
from marius_lite.cli import main
from marius_lite.processes.interrupt import Interrupt

class Loaded: pass

def work():
    loaded = Loaded()
    dropped = weakref.ref(loaded, lambda _: os.kill(os.getpid(), signal.SIGINT))
    del loaded  # Python says that it ignores the exception
    THEN

main.app = lambda *_: lambda **_: work()
main.main()
"""


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("with Interrupt() as interrupt: return interrupt.signum", signal.SIGINT),
        ("raise RuntimeError('a library could not be loaded')", 130),
    ],
)
def test_a_ctrl_c_that_python_or_a_library_drops_counts_all_the_same(then, expected):
    program = PRESSED_IN_A_CALLBACK.replace("THEN", then)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Exception ignored" in done.stderr
    assert done.returncode == expected
    assert done.stderr.endswith("marius-lite: stopped\n") == (expected == 130)


def test_a_ctrl_c_in_an_import_ends_the_process_at_once(tmp_path):
    (tmp_path / "loaded.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nfinally:\n    print('here')"
    )
    program = "from marius_lite.cli import main\nmain.app = lambda *_: lambda **_: __import__('loaded')\nmain.main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "marius-lite: stopped\n")
