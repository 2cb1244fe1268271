"""update, killed at any call, and then the same command again: the old version or the new one, never another."""

import shutil
import signal

import numpy as np
import pytest
from preprocess_faults import CHANGES, Faults
from preprocess_tools import data_files, make

from marius_lite.graph import Dataset
from marius_lite.graph.versions import versions

PARTS = 30  # of tests that try every call
TRIED = 8  # calls in the quick test, beside the last ones
LAST = 16


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """A folder with a dataset, new edges, and edges to remove."""
    folder, rng = tmp_path_factory.mktemp("dataset"), np.random.default_rng(3)
    rows = rng.integers(0, (200, 3, 200), (2000, 3))
    for name, part in (("e", rows[:1500]), ("new", rows[1500:] + np.array([60, 1, 60])), ("gone", rows[:40])):
        np.save(folder / f"{name}.npy", part)
    np.save(folder / "y.npy", rng.integers(0, 5, 200))
    make(folder / "d", folder / "e.npy", labels=folder / "y.npy", node_split="0.5,0.3,0.2", partitions=3)
    return folder


def arguments(dataset, run):
    shutil.copytree(dataset / "d", run / "d")
    return [run / "d", dataset / "new.npy", "--remove", dataset / "gone.npy", "--memory", "1MiB"]


@pytest.fixture(scope="module")
def undisturbed(server, dataset, tmp_path_factory):
    """(the bytes of the old version, of the new one, the calls of a command that nothing happens to)."""
    folder = tmp_path_factory.mktemp("undisturbed")
    code, told = server.run(arguments(dataset, folder / "run"), command="update", TRACE=f"{CHANGES}:{folder}/run:{folder}/trace")
    assert code == 0, told
    return data_files(dataset / "d"), data_files(folder / "run/d/versions/2"), Faults.read_trace(folder / "trace")


def check_killed(server, dataset, undisturbed, run, number):
    old, new, _ = undisturbed
    command = arguments(dataset, run)
    code, told = server.run(command, command="update", KILL=f"{CHANGES}:{run}:{number}")
    assert code in (-signal.SIGKILL, 0), told  # threads make a few calls more or fewer
    there = versions(run / "d")
    assert list(there) in ([1], [1, 2])
    for version, expected in zip(there.values(), (old, new)):
        found = {name: data for name, data in data_files(version).items() if name in expected}
        assert found == expected
    Dataset.open(run / "d").verify()
    code, told = server.run(command, command="update")
    assert code == 0, told
    assert data_files(run / "d/versions/2") == new
    assert [path.name for path in (run / "d/versions").iterdir()] == ["2"]
    assert not {"lock", "progress.json"} & {path.name for path in (run / "d/versions/2").iterdir()}
    shutil.rmtree(run)


def test_killed_at_some_calls_and_each_of_the_last(server, dataset, undisturbed, tmp_path):
    calls = len(undisturbed[2])
    for number in sorted({*np.linspace(1, calls, TRIED).astype(int).tolist(), *range(calls - LAST, calls + 1, 2)}):
        check_killed(server, dataset, undisturbed, tmp_path / str(number), number)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_each_call(server, dataset, undisturbed, tmp_path, part):
    for number in range(1 + part, len(undisturbed[2]) + 1, PARTS):
        check_killed(server, dataset, undisturbed, tmp_path / str(number), number)


def test_a_disk_that_is_full_at_some_write(server, dataset, undisturbed, tmp_path):
    _, new, calls = undisturbed
    writes = sum(call.op in ("write", "pwrite") for call in calls)
    for number in np.linspace(1, writes - 2, 3).astype(int).tolist():
        run = tmp_path / str(number)
        command = arguments(dataset, run)
        code, told = server.run(command, command="update", FAIL=f"write,pwrite:{run}:{number}+:ENOSPC")
        assert code == 1, told
        assert "the disk is full: make room" in told.splitlines()[-1], told
        assert list(versions(run / "d")) == [1]
        code, told = server.run(command, command="update")
        assert code == 0, told
        assert data_files(run / "d/versions/2") == new
