"""SIGKILL in place of each file operation of a resume, the checkpoints after it and the last evaluation."""

import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from faults import Faults
from whole_runs import EACH_BATCH

CHANGES = "rename,link,symlink,write,pwrite,ftruncate,create,mkdir,unlink,rmdir,fsync"
TRIED = {"unlink": 6, "rmdir": 6, "fsync": 6}
"""One in so many of the calls that come in long series: one for each partition, when old folders are removed; and of syncs, in
front of which all is as after the call before them."""
PARTS = 6


@pytest.fixture(scope="module")
def near_the_end(program, tmp_path_factory):
    """A run that was killed when its last batch, two checkpoints and an evaluation were still to come."""
    folder = tmp_path_factory.mktemp("near_the_end")
    whole, cut = folder / "whole", folder / "cut"
    assert program.train(whole, *EACH_BATCH, TRACE=f"rename:/checkpoints/.latest.tmp:{folder}/trace")[0] == 0
    checkpoints = len(Faults.read_trace(folder / "trace"))
    code, told = program.train(cut, *EACH_BATCH, KILL=f"rename:/checkpoints/.latest.tmp:{checkpoints - 1}")
    assert code == -signal.SIGKILL, told
    return cut


@pytest.fixture(scope="module")
def calls(program, near_the_end, tmp_path_factory):
    """What a resume from there does to the disk, call by call."""
    folder = tmp_path_factory.mktemp("calls")
    run = copied(near_the_end, folder / "run")
    code, told = program.resume(run, TRACE=f"{CHANGES}:{run}/:{folder}/trace")
    assert code == 0, told
    return Faults.read_trace(folder / "trace")


def copied(run, to):
    return shutil.copytree(run, to, symlinks=True)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
def test_killed_at_each_call_the_run_ends_the_same(program, near_the_end, calls, expected_by_batch, tmp_path, part):
    def differs_when_killed_at(number):
        run = copied(near_the_end, tmp_path / str(number))
        code, told = program.resume(run, KILL=f"{CHANGES}:{run}/:{number}")
        assert code == -signal.SIGKILL, told
        differs = program.finish(run) != expected_by_batch
        shutil.rmtree(run)
        return differs

    numbers = [number for number, call in enumerate(calls, 1) if number % TRIED.get(call.op, 1) == 0][part::PARTS]
    assert {call.op for call in calls} == set(CHANGES.split(","))
    with ThreadPoolExecutor(2) as pool:
        differing = [number for number, differs in zip(numbers, pool.map(differs_when_killed_at, numbers)) if differs]
    assert [calls[number - 1] for number in differing] == []
