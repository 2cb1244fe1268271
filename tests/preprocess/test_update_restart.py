"""update, killed at any call, and then the same command again: the old version or the new one, never another."""

import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from preprocess_faults import CHANGES, Faults
from preprocess_tools import data_files, make

from marius_lite import files
from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.manifest import HOLED
from marius_lite.graph.versions import versions
from marius_lite.preprocess.update import update_dataset

PARTS = 30  # of tests that try every call
TRIED = 6  # calls in the quick test, beside the last ones
LAST = 16


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """A folder with a dataset, new edges, and edges to remove."""
    folder, rng = tmp_path_factory.mktemp("dataset"), np.random.default_rng(3)
    rows = rng.integers(0, (200, 3, 200), (2000, 3))
    for name, part in (
        ("e", rows[:1500]),
        ("new", rows[1500:] + np.array([60, 1, 60])),
        ("gone", rows[:40]),
        ("few", rows[:30] + np.array([180, 1, 3])),
    ):
        np.save(folder / f"{name}.npy", part)
    np.save(folder / "y.npy", rng.integers(0, 5, 200))
    make(folder / "d", folder / "e.npy", labels=folder / "y.npy", node_split="0.5,0.3,0.2", partitions=3)
    return folder


WAYS = {"again": ["new.npy", "--remove", "gone.npy"], "appended": ["few.npy"], "removed": ["few.npy", "--remove", "gone.npy"]}
"""All edges are written again, or few are appended, or appended while others become holes."""


def arguments(dataset, run, way):
    shutil.copytree(dataset / "d", run / "d")
    given = [dataset / each if each.endswith(".npy") else each for each in WAYS[way]]
    return [run / "d", *given, "--memory", "1MiB"]


@pytest.fixture(scope="module", params=WAYS)
def undisturbed(server, dataset, tmp_path_factory, request):
    """(the bytes of the old version, of the new one, the calls of a command that nothing happens to, which command)."""
    folder, way = tmp_path_factory.mktemp("undisturbed"), request.param
    command = arguments(dataset, folder / "run", way)
    code, told = server.run(command, command="update", TRACE=f"{CHANGES}:{folder}/run:{folder}/trace")
    assert code == 0, told
    manifest = Dataset.open(folder / "run/d").manifest
    assert (manifest.segments is None) == (way == "again")
    assert (manifest.format_version == HOLED) == (way == "removed")
    return data_files(dataset / "d"), data_files(folder / "run/d/versions/2"), Faults.read_trace(folder / "trace"), way


def check_killed(server, dataset, undisturbed, run, number):
    old, new, _, way = undisturbed
    command = arguments(dataset, run, way)
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
    """Of the last the changes alone: before a sync all is as after the call before it."""
    calls = undisturbed[2]
    tried = {*np.linspace(1, len(calls), TRIED).astype(int).tolist()}
    last = {number for number, call in enumerate(calls, 1) if number > len(calls) - LAST and call.op != "fsync"}
    assert len(last) == 3  # the new version gets its name, and two files of it go
    for number in sorted(tried | last):
        check_killed(server, dataset, undisturbed, tmp_path / str(number), number)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_each_call(server, dataset, undisturbed, tmp_path, part):
    for number in range(1 + part, len(undisturbed[2]) + 1, PARTS):
        check_killed(server, dataset, undisturbed, tmp_path / str(number), number)


def test_a_disk_that_is_full_at_some_write(server, dataset, undisturbed, tmp_path):
    _, new, calls, way = undisturbed
    writes = sum(call.op in ("write", "pwrite") for call in calls)
    for number in np.linspace(1, writes - 2, 3).astype(int).tolist():
        run = tmp_path / str(number)
        command = arguments(dataset, run, way)
        code, told = server.run(command, command="update", FAIL=f"write,pwrite:{run}:{number}+:ENOSPC")
        assert code == 1, told
        assert "the disk is full: make room" in told.splitlines()[-1], told
        assert list(versions(run / "d")) == [1]
        code, told = server.run(command, command="update")
        assert code == 0, told
        assert data_files(run / "d/versions/2") == new


def test_two_updates_at_the_same_time(server, dataset, tmp_path):
    """Both of another file; begun together many times over. One wins, the other says so in one line and can be given again."""
    shutil.copytree(dataset / "d", tmp_path / "d")
    commands = [["update", tmp_path / "d", dataset / name] for name in ("new.npy", "gone.npy")]
    running = [
        subprocess.Popen([sys.executable, "-m", "marius_lite", *map(str, each)], stderr=subprocess.PIPE, text=True)
        for each in commands
    ]
    told = [each.communicate(timeout=120)[1] for each in running]
    codes = [each.returncode for each in running]
    assert 0 in codes
    assert list(versions(tmp_path / "d")) == [1, 2, 3][: 1 + codes.count(0)]
    for code, said in zip(codes, told):
        assert code == 0 or said.splitlines()[-1].endswith(
            "another update of this dataset is running: wait for it to end, then give the command again"
        )
        assert "Traceback" not in said
    Dataset.open(tmp_path / "d").verify()


def test_a_dataset_that_is_being_updated_is_not_updated_beside_that(dataset, tmp_path):
    shutil.copytree(dataset / "d", tmp_path / "d")
    with files.alone(tmp_path / "d"), pytest.raises(UserError, match="another update of this dataset is running"):
        update_dataset(tmp_path / "d", dataset / "new.npy")
    update_dataset(tmp_path / "d", dataset / "new.npy")


def test_the_folder_of_versions_is_synced_into_its_parent(dataset, tmp_path, monkeypatch):
    shutil.copytree(dataset / "d", tmp_path / "d")
    synced, sync = [], files.sync
    monkeypatch.setattr(files, "sync", lambda path: synced.append(path) or sync(path))
    update_dataset(tmp_path / "d", dataset / "new.npy")
    assert tmp_path / "d" in synced
