"""A real benchmark as a part of scripts/gpu_check: killed in its middle with the whole call, and ended by the same command."""

import os
import signal
import sys

import host_benchmarks
import pytest
from rehearsal import Rehearsal, alive, wait_until


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return str(host_benchmarks.library_path(tmp_path_factory))


def test_a_benchmark_that_is_killed_in_its_middle_ends_with_the_next_call(tmp_path, library):
    rehearsal, program = Rehearsal(tmp_path), (sys.executable, host_benchmarks.__file__)
    sizes = ("--buffer", "4MiB", "--transfer", "128KiB", "--batch", "100", "--sms", "2", "--rounds", "1", "--at-least", "0.01")
    rehearsal.plan(gpu_a=[], gpu_gather=["bench", 0, 0, "end", *program, library, "gpu_gather", "--json", *sizes])
    process = rehearsal.start()
    wait_until(lambda: len(rehearsal.lines("figure", part="gpu_gather")) >= 3)
    (part,) = children(process.pid)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not alive(part))
    before = rehearsal.record.read_bytes()
    found = rehearsal.lines("figure", part="gpu_gather")
    assert rehearsal.outcomes() == [("gpu_a", "done")]

    assert rehearsal.call() == 0, rehearsal.errors
    assert rehearsal.record.read_bytes().startswith(before)
    assert rehearsal.outcomes() == [("gpu_a", "done"), ("gpu_gather", "done")]
    again = rehearsal.lines("figure", part="gpu_gather")[len(found) :]
    assert len(again) > len(found)
    assert [line["figure"] for line in found] == [line["figure"] for line in again[: len(found)]]
    assert len(rehearsal.lines("settings", part="gpu_gather")) == 2
    page = rehearsal.record.with_suffix(".md").read_text()
    assert all(f"| {line['figure']} |" in page for line in again)


def children(number):
    with open(f"/proc/{number}/task/{number}/children") as file:
        return [int(child) for child in file.read().split()]
