"""Processes on this machine: one bad end is the end of all, with one exit code."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from marius_lite.errors import EndedElsewhere, RunError
from marius_lite.processes import start as start_processes
from marius_lite.processes.start import run_processes


def test_all_end_well():
    run_processes(2, ["--version"])


def test_the_exit_code_of_a_failed_one_is_that_of_all(capfd):
    with pytest.raises(EndedElsewhere) as ended:
        run_processes(2, ["train", "/no/such/place", "--run", "/no/such/run"])
    assert ended.value.exit_code == 2
    assert capfd.readouterr().err.count("/no/such/place: ") == 1  # the first one tells


def children_of(process, thread=None):
    return [int(pid) for pid in Path(f"/proc/{process}/task/{thread or process}/children").read_text().split()]


def children(thread=None):
    return children_of("self", thread or threading.get_native_id())


def test_a_killed_one_is_named_and_the_others_end(monkeypatch, tmp_path):
    monkeypatch.setattr(start_processes, "LAST_WORDS", 0.5)
    monkeypatch.setattr(start_processes.sys, "executable", "/bin/sleep")
    monkeypatch.setattr(start_processes, "MODULE", ())
    parent, before = threading.get_native_id(), children()

    def kill():
        for _ in range(200):
            found = [pid for pid in children(parent) if pid not in before]
            if len(found) >= 2:
                os.kill(max(found), signal.SIGKILL)  # the one that was started last
                return
            time.sleep(0.05)

    threading.Thread(target=kill).start()
    with pytest.raises(RunError, match="process 1 of 2 was killed by signal 9"):
        run_processes(2, ["30"])
    assert children() == before


CHILD = """
import os, time
from marius_lite.processes.start import stop_with_starter
stop_with_starter()
os.write(1, b"0\\n")  # at once: both write to one pipe
time.sleep(60)
"""
STARTER = f"from marius_lite.processes import start as s; s.MODULE = ('-c', {CHILD!r}); s.run_processes(2, [])"


def test_all_stop_where_the_one_that_started_them_is_killed():
    starter = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE)
    try:
        assert [starter.stdout.readline() for _ in range(2)] == [b"0\n"] * 2
        started = children_of(starter.pid)
        assert len(started) == 2
    finally:
        starter.kill()
    starter.communicate(timeout=20)  # until nobody holds its output
    assert not any(runs(pid) for pid in started)


def runs(pid):
    command = Path(f"/proc/{pid}/cmdline")  # empty where only its exit code is left
    return command.exists() and command.read_bytes() != b""


def test_others_stay_as_they_are(monkeypatch):
    monkeypatch.delenv(start_processes.STARTED_BY, raising=False)
    start_processes.stop_with_starter()
