"""A full disk ends a run with one line; what was saved before opens, and resume ends as if nothing had happened."""

import json
import subprocess

import pytest
import zarr
from faults import Faults
from whole_runs import EACH_BATCH, differences, error_in, outcome

from marius_lite.checkpoint.describe import verify_checkpoint


def check_told(code, told):
    assert code == 1, told
    assert "the disk is full: make room" in error_in(told)


def check_checkpoints_open(run):
    for state in run.glob("checkpoints/[0-9]*/state.json"):
        verify_checkpoint(state.parent)
        assert zarr.open_group(state.parent, mode="r")["nodes"].shape[0] == 300
        json.loads(state.read_bytes())


@pytest.fixture(scope="module")
def counts(program, tmp_path_factory):
    """How many of each kind of call a whole run makes, in each of its folders."""
    folder = tmp_path_factory.mktemp("counts")
    run = folder / "run"
    assert program.train(run, *EACH_BATCH, TRACE=f"*:{run}:{folder}/trace")[0] == 0
    calls = Faults.read_trace(folder / "trace")
    return lambda op, part: sum(call.op == op and part in call.path + " " + call.other for call in calls)


CALLS = [
    ("pwrite", "/live/"),
    ("create", "/live/"),
    ("rename", "/live/"),
    ("ftruncate", "/live/"),
    ("mkdir", "/live/"),
    ("create", "/checkpoints/"),
    ("write", "/checkpoints/"),
    ("link", "/checkpoints/"),
    ("mkdir", "/checkpoints"),
    ("rename", "/checkpoints/"),
    ("symlink", "/checkpoints/"),
    ("fsync", "/checkpoints"),
    ("write", "metrics.jsonl"),
    ("create", "/eval"),
    ("write", "config.yaml"),
    ("create", "metrics.jsonl"),
    ("create", "zarr"),
]
ONCE = CALLS[-3:-1]
"""These a run makes once."""
TAKING = ("pwrite", "write", "create", "link")
"""Calls that a full disk refuses; the quick tests try the others once."""


def check_it_fails_and_resumes(program, expected, run, op, part, at):
    code, told = program.train(run, *EACH_BATCH, FAIL=f"{op}:{part}:{at}+:ENOSPC")
    check_told(code, told)
    assert (f"then `marius-lite resume {run}` goes on" in told) == (run / "config.yaml").exists()
    check_checkpoints_open(run)
    assert not differences(program.finish(run, *EACH_BATCH), expected)


@pytest.mark.parametrize(("op", "part"), CALLS)
def test_a_disk_that_is_full_at_the_first_call(program, counts, expected_by_batch, tmp_path, op, part):
    assert counts(op, part)
    check_it_fails_and_resumes(program, expected_by_batch, tmp_path / "run", op, part, 1)


@pytest.mark.parametrize(
    ("op", "part"),
    [pytest.param(op, part, marks=[] if op in TAKING else [pytest.mark.slow]) for op, part in CALLS if (op, part) not in ONCE],
)
def test_a_disk_that_fills_at_some_call(program, counts, expected_by_batch, tmp_path, op, part):
    at = 1 + 2 * counts(op, part) // 3
    assert at > 1
    check_it_fails_and_resumes(program, expected_by_batch, tmp_path / "run", op, part, at)


def test_a_full_disk_of_its_own(program, expected_by_batch, tmp_path):
    """A real one, ever larger: each time the run gets further, until it ends."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.strip()}")
    try:
        run, codes = disk / "run", []
        for kib in range(64, 2048, 4):
            subprocess.run(["mount", "-o", f"remount,size={kib}k", disk], check=True)
            code, told = program.start(*program.going_on(run, *EACH_BATCH)).wait()
            codes.append(code)
            if code == 0:
                break
            if code == 1:
                check_told(code, told)
            else:
                assert "are free" in told  # refused beforehand
            check_checkpoints_open(run)
        assert codes.count(1) >= 2
        assert differences(outcome(run), expected_by_batch) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_disk_that_is_full_from_the_start(program, tmp_path):
    run = tmp_path / "run"
    code, told = program.train(run, *EACH_BATCH, FAIL=f"*:{run}:1+:ENOSPC")
    check_told(code, told)
    assert told.endswith("make room, then do the same again\n")
    assert not run.exists()
