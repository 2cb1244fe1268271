"""The fuzzer itself: it sees what it should see; a part of its cases, and those that found something once."""

import subprocess
import sys
from pathlib import Path
from random import Random

import fuzz_damage
import fuzz_judge
import pytest
from fuzz_judge import Command, Ended

FOUND_ONCE = ["2:20", "0:111", "20:2619", "21:445", "22:4237", "23:295", "24:1253", "26:712", "91:4552", "91:4629"]
"""Offsets of Arrow's strings outside their bytes; an error that showed all of a long value; a list where a size should be; a
graph of 2 billion nodes and 20 edges; sizes in tables of more memory than there is; a dict as decoder; the mark of
comments in bytes that are not UTF-8; a setting of thousands of digits; a column's name that is not UTF-8."""


def fuzz(*arguments):
    return subprocess.run([sys.executable, Path(__file__).with_name("fuzzer.py"), *arguments], capture_output=True, text=True)


def test_some_cases_of_all_areas():
    """What twenty seconds are enough for where nothing else runs; as many where something does."""
    done = fuzz("--cases", "40")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.startswith("40 cases ")


def test_cases_that_found_something_once():
    done = fuzz(*(part for case in FOUND_ONCE for part in ("--case", case)))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_many_cases():
    done = fuzz("--minutes", "5", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "err", "said"),
    [
        (0, "e.tsv: read as text\n", None),
        (2, "e.tsv: read as text\nmarius-lite: e.tsv:1: empty\n", None),
        (1, 'Traceback (most recent call last):\n  File "x"\nmarius-lite: unexpected error\n', "traceback"),
        (2, "marius-lite: one\ntwo\n", "no error"),
        (2, "", "no error"),
        (-11, "", "signal 11"),
        (3, "marius-lite: x\n", "exit code 3"),
        (130, "marius-lite: stopped\n", None),
        (None, "", "not over"),
        (2, "marius-lite: \x1b[31m\n", "control characters"),
        (1, "marius-lite: out of memory: x\n", "out of memory"),
    ],
)
def test_what_is_a_finding(tmp_path, code, err, said):
    found = fuzz_judge.finding(Command(["info"]), Ended(code, "", err, 0), tmp_path)
    assert (found is None) if said is None else said in (found or "")


def test_memory_and_what_is_left_behind_are_findings(tmp_path):
    assert "MB more" in fuzz_judge.finding(Command(["info"]), Ended(0, "", "", fuzz_judge.RSS + 1), tmp_path)
    (tmp_path / "d").mkdir()
    assert "d is there" in fuzz_judge.finding(Command(["x"], makes="d"), Ended(2, "", "marius-lite: x\n", 0), tmp_path)


def test_a_command_is_judged_by_its_fork(tmp_path):
    ended = fuzz_judge.run(Command(["info", "nowhere"]), tmp_path)
    assert ended.code == 2
    assert fuzz_judge.run(Command(["--version"]), tmp_path).code == 0


def test_a_case_is_a_function_of_its_seed():
    one, two = (fuzz_damage.damaged(Random("0:7"), b"1\t2\n" * 50, tokens=True) for _ in range(2))
    assert one == two != b"1\t2\n" * 50


def test_a_command_that_does_not_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz_judge, "SECONDS", 0.2)
    monkeypatch.setattr(fuzz_judge.main, "run", lambda _: [0 for _ in iter(int, 1)])
    ended = fuzz_judge.run(Command(["info"]), tmp_path)
    assert "not over" in fuzz_judge.finding(Command(["info"]), ended, tmp_path)
