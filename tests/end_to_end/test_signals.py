"""SIGINT, SIGTERM and SIGHUP: once ends in a checkpoint, twice at once."""

import os
import signal
import time

import pytest
from whole_runs import differences

LONG = ["--set", "training.epochs=200", "--set", "checkpoint.every_minutes=60"]


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def training_has_begun(run):
    return lambda: (run / "checkpoints" / "latest").is_symlink()


@pytest.mark.parametrize(("signum", "expected_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_in_a_checkpoint_and_the_run_goes_on_from_it(program, expected, tmp_path, signum, expected_code):
    run = tmp_path / "run"
    running = program.start(*program.training(run), DELAY="fsync:/checkpoints:20")
    wait_for(training_has_begun(run))
    running.send(signum)
    code, told = running.wait()
    name = os.readlink(run / "checkpoints" / "latest")
    last = told.splitlines()[-1]  # before it, what the run said
    stopped = f"marius-lite: stopped at checkpoint {name}: `marius-lite resume {run}` goes on from there"
    assert (code, last) == (expected_code, stopped)
    assert differences(program.finish(run), expected) == []


def test_a_signal_in_mid_epoch_saves_mid_epoch(program, tmp_path):
    run = tmp_path / "run"
    running = program.start(*program.training(run, *LONG, "--set", "evaluation.every_epochs=0"))
    wait_for(training_has_begun(run))
    time.sleep(0.05)
    before = set(os.listdir(run / "checkpoints"))
    running.send(signal.SIGTERM)
    assert running.wait()[0] == 143
    assert os.readlink(run / "checkpoints" / "latest") not in before


def test_a_signal_before_the_first_batch_has_nothing_to_save(program, expected, tmp_path):
    run = tmp_path / "run"
    running = program.start(*program.training(run), DELAY="pwrite:/live/:200")
    wait_for(lambda: any(path.stat().st_blocks for path in run.glob("live/*/c/*/*")))  # the first of the first rows stands
    running.send(signal.SIGINT)
    assert running.wait()[0] == 130
    assert differences(program.finish(run), expected) == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_stops_at_once_even_inside_a_system_call(program, tmp_path, signum):
    run = tmp_path / "run"
    running = program.start(*program.training(run, *LONG), DELAY="fsync:/checkpoints/.:2000")
    wait_for((run / "checkpoints").exists)
    wait_for(lambda: list((run / "checkpoints").glob(".*/dense.safetensors")))  # now a first fsync sleeps
    running.send(signum)
    time.sleep(0.3)
    start = time.monotonic()
    running.send(signum)
    assert running.wait()[0] == 128 + signum
    assert time.monotonic() - start < 1.5


def test_a_signal_while_ranking_an_epoch_that_is_not_saved_loses_nothing(program, tmp_path):
    """Such an epoch's end is saved because of the signal."""
    settings = ["--set", "checkpoint.every_epochs=2", "--set", "checkpoint.every_minutes=60"]
    run, whole = tmp_path / "run", tmp_path / "whole"
    running = program.start(*program.training(run, *settings), DELAY="create:/eval/:1000")
    wait_for((run / "eval").exists)
    running.send(signal.SIGINT)
    assert running.wait()[0] == 130
    assert os.readlink(run / "checkpoints" / "latest") == "1.0.0"
    found, expected = program.finish(run), program.finish(whole, *settings)
    assert differences(found, expected) == []
