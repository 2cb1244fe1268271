import os
import signal
import time

import pytest

from marius_lite.train.interrupt import SIGNALS, Interrupt


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
