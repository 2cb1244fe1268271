"""repartition, killed at any call, and then the same command again: the same bytes; in the place of its own dataset, too."""

import shutil
import signal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from preprocess_faults import CHANGES, Faults, finished
from preprocess_tools import data_files, make

PASSES = ["names", "tables", "sort", "write", "adjacency", "dataset"]
PARTS = 6  # of tests that try every call
ASKED = ["--partitions", "4", "--memory", "1MiB"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Everything there is to make again, of 300 nodes."""
    folder, rng = tmp_path_factory.mktemp("dataset"), np.random.default_rng(3)
    np.save(folder / "e.npy", rng.integers(0, (300, 4, 300), (3000, 3)))
    np.save(folder / "x.npy", rng.normal(size=(300, 6)).astype(np.float32))
    np.save(folder / "y.npy", rng.integers(0, 5, 300))
    return make(
        folder / "old",
        folder / "e.npy",
        features=folder / "x.npy",
        labels=folder / "y.npy",
        split="0.8,0.1,0.1",
        node_split="0.5,0.3,0.2",
        adjacency="in",
        partitions=3,
    ).path


def arguments(run, dataset, in_place):
    """The command, its output and the dataset in the new folder ``run``."""
    if not in_place:
        return [dataset, "--output", run / "d", *ASKED]
    shutil.copytree(dataset, run / "d")
    return [run / "d", "--output", run / "d", *ASKED, "--overwrite"]


@pytest.fixture(
    scope="module", params=[pytest.param(False, id="beside", marks=pytest.mark.slow), pytest.param(True, id="in place")]
)
def undisturbed(request, server, dataset, tmp_path_factory):
    """(whether in place, the files of a run that nothing happens to, its calls)."""
    folder = tmp_path_factory.mktemp("undisturbed")
    command = arguments(folder / "run", dataset, request.param)
    code, told = server.run(command, command="repartition", TRACE=f"{CHANGES}:{folder}/run:{folder}/trace")
    assert code == 0, told
    return request.param, data_files(folder / "run/d"), Faults.read_trace(folder / "trace")


def killed(server, dataset, undisturbed, run, number):
    """Passes that were remembered, when the command was killed at a call; it runs again."""
    in_place, expected, _ = undisturbed
    output, command = run / "d", arguments(run, dataset, in_place)
    code, told = server.run(command, command="repartition", KILL=f"{CHANGES}:{run}:{number}")
    assert code in (-signal.SIGKILL, 0), told
    passes, there = list(finished(output)), output.exists()
    code, told = server.run(command, command="repartition")
    assert code == 0 or (not in_place and there and code == 2 and "exists already" in told), told
    if passes and not in_place:
        assert f"going on after pass {passes[-1]!r}" in told
    assert data_files(output) == expected
    assert [path.name for path in run.iterdir()] == ["d"]
    shutil.rmtree(run)
    return passes


def begin_of_each(calls):
    """Numbers of the calls with which passes begin, and one more than there are."""
    ends = [number for number, call in enumerate(calls, 1) if call.op == "rename" and call.other.endswith("/progress.json")]
    assert len(ends) == len(PASSES)
    return [1, *(end + 1 for end in ends), len(calls) + 1]


def test_killed_in_every_pass(server, dataset, undisturbed, tmp_path):
    begins = begin_of_each(undisturbed[2])
    halfway_and_last = {number for begin, end in pairwise(begins) for number in ((begin + end) // 2, end - 1)}
    numbers = sorted(halfway_and_last | {begins[-2]})  # behind the last pass few calls are left: halfway, the dataset is there
    seen = {len(killed(server, dataset, undisturbed, tmp_path / str(number), number)) for number in numbers}
    assert seen == set(range(len(PASSES) + 1))


def test_killed_at_each_of_the_last_calls(server, dataset, undisturbed, tmp_path):
    """All is done, but for names: beside its dataset, nothing is made again."""
    in_place, _, calls = undisturbed
    renamed = next(number for number, call in enumerate(calls, 1) if call.op == "rename" and Path(call.other).name == "d")
    last = range(renamed - 3, len(calls) + 1)  # in place, the old dataset's files go one by one
    assert len(last) > (50 if in_place else 6)
    for number in sorted({*last[:5], *last[5::40], *last[-5:]}):
        done = killed(server, dataset, undisturbed, tmp_path / str(number), number)
        assert done == ([] if number > renamed else PASSES)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_each_call(server, dataset, undisturbed, tmp_path, part):
    for number in range(1 + part, len(undisturbed[2]) + 1, PARTS):
        killed(server, dataset, undisturbed, tmp_path / str(number), number)
