"""SIGKILL at any instant costs time, never a bit of the result."""

import os
import random
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from whole_runs import differences

KILLS = 50
GROUPS = 5


@pytest.fixture(scope="module")
def duration(program, expected, tmp_path_factory):
    """Seconds of an undisturbed run while another one goes on, as in the tests."""
    runs = [tmp_path_factory.mktemp("timing") / str(k) for k in range(2)]
    start = time.monotonic()
    commands = [program.start(*program.training(run)) for run in runs]
    assert [command.wait()[0] for command in commands] == [0, 0]
    return time.monotonic() - start


def kill(program, run, seconds, chance):
    """Start the run or go on with it and kill it after a random time; False if it ended before."""
    running = program.start(*program.going_on(run))
    if not running.over_within(chance.uniform(0, seconds)):
        running.send(signal.SIGKILL)
    code, told = running.wait()
    assert code in (0, -signal.SIGKILL), told
    return code != 0


def place(run):
    """Where a killed run will go on."""
    latest = run / "checkpoints" / "latest"
    return os.readlink(latest) if latest.is_symlink() else "start"


@pytest.mark.parametrize("group", [0, *(pytest.param(group, marks=pytest.mark.slow) for group in range(1, GROUPS))])
def test_a_run_killed_at_any_instant_ends_as_if_nothing_had_happened(program, expected, duration, tmp_path, group):
    def killed_and_resumed(number):
        chance = random.Random(1000 * group + number)
        run = tmp_path / str(number)
        while not kill(program, run, duration, chance):
            shutil.rmtree(run)
        if chance.random() < 0.3:
            kill(program, run, duration / 2, chance)
        return place(run), program.finish(run)

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(killed_and_resumed, range(KILLS // GROUPS)))
    places = [place for place, _ in results]
    assert any(not place.endswith(".0.0") for place in places), f"none in mid-epoch: {places}"
    for _, outcome in results:
        assert differences(outcome, expected) == []
