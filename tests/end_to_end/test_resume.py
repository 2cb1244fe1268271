"""What resume does, and what it refuses."""

import json
import os
import re
import shutil
import signal

import pytest
from whole_runs import EACH_BATCH, differences, error_in, outcome, rows


@pytest.fixture(scope="module")
def finished(program, expected, tmp_path_factory):
    run = tmp_path_factory.mktemp("finished") / "run"
    assert differences(program.finish(run), expected) == []
    return run


@pytest.fixture
def run(finished, tmp_path):
    """A finished run of its own."""
    return shutil.copytree(finished, tmp_path / "run", symlinks=True)


@pytest.fixture(scope="module")
def three_epochs(program, tmp_path_factory):
    """What a run amounts to that had three epochs from the start."""
    return program.finish(tmp_path_factory.mktemp("three") / "run", "--set", "training.epochs=3")


@pytest.fixture(scope="module")
def with_all_kept(program, expected_by_batch, tmp_path_factory):
    """A finished run that has the checkpoints after each of its batches."""
    run = tmp_path_factory.mktemp("kept") / "run"
    assert differences(program.finish(run, *EACH_BATCH, "--set", "checkpoint.keep=100"), expected_by_batch) == []
    return run


def refused(result, *said):
    code, told = result
    assert code == 2, told
    for part in said:
        assert part in error_in(told)


def test_a_held_run_is_refused(program, expected, tmp_path):
    run = tmp_path / "run"
    holder = program.start(*program.training(run), DELAY="pwrite:/live/:50")
    while not (run / "live" / "nodes" / "c").exists():
        assert not holder.over_within(0.02)
    holder.send(signal.SIGSTOP)  # it is still at work, however long the others take
    refused(program.resume(run), "another process works on this folder")
    refused(program.train(run), "exists already")
    holder.send(signal.SIGCONT)
    assert holder.wait()[0] == 0
    assert differences(outcome(run), expected) == []


@pytest.mark.parametrize(
    "moment",
    [
        "create:config.yaml:1",
        "rename:config.yaml:1",
        "mkdir:/live:1",
        "pwrite:/live/:4",
        "create:metrics.jsonl:1",
        "symlink:/checkpoints/:1",
    ],
)
def test_killed_before_its_first_checkpoint_a_run_starts_again(program, expected, tmp_path, moment):
    run = tmp_path / "run"
    assert program.train(run, KILL=moment)[0] == -signal.SIGKILL
    assert not (run / "checkpoints" / "latest").exists()
    assert differences(program.finish(run), expected) == []


def test_resuming_a_run_without_a_checkpoint_says_that_it_starts_again(program, expected, tmp_path):
    run = tmp_path / "run"
    assert program.train(run, KILL="pwrite:/live/:4")[0] == -signal.SIGKILL
    code, told = program.resume(run)
    assert code == 0, told
    assert "has no checkpoint yet: training starts again, from its seed" in told
    assert differences(outcome(run), expected) == []


def test_resuming_a_finished_run_says_so_and_changes_nothing(program, run, expected):
    before = {path: path.lstat().st_mtime_ns for path in run.rglob("*")}
    code, told = program.resume(run)
    assert code == 0
    assert "finished" in told
    assert "--set training.epochs=N" in told
    assert {path: path.lstat().st_mtime_ns for path in run.rglob("*")} == before
    assert differences(outcome(run), expected) == []


def test_more_epochs_equal_a_run_that_had_them_from_the_start(program, run, three_epochs):
    code, told = program.resume(run, "--set", "training.epochs=3")
    assert code == 0, told
    assert differences(outcome(run), three_epochs) == []
    assert "finished" in program.resume(run)[1]  # the change is remembered


def test_a_changed_number_of_epochs_survives_a_kill(program, run, three_epochs):
    assert program.resume(run, "--set", "training.epochs=3", KILL="rename:/checkpoints/3.0.0:1")[0] == -signal.SIGKILL
    assert differences(program.finish(run), three_epochs) == []


@pytest.mark.parametrize(
    "setting",
    [
        "model.dim=16",
        "training.seed=1",
        "training.batch_size=20",
        "storage.capacity=4",
        "optimizer.rows.name=sgd",
        "storage.window_edges=500",
    ],
)
def test_what_shapes_the_work_cannot_change(program, run, setting):
    refused(program.resume(run, "--set", setting), setting.split("=")[0], "cannot change")


def test_going_back_makes_the_same_again(program, expected, run):
    """A checkpoint of the past, its best evaluation included, and the later ones are replaced."""
    names = sorted(path.name for path in (run / "checkpoints").iterdir() if path.is_dir() and not path.is_symlink())
    code, told = program.resume(run, "--checkpoint", names[0])
    assert code == 0, told
    found = outcome(run)
    if names[0] != "2.0.0":
        assert differences(found, expected) == []
    refused(program.resume(run, "--checkpoint", "9.9.9"), "no checkpoint 9.9.9", "2.0.0")


@pytest.mark.parametrize(
    "moment",
    [
        "rename:/checkpoints/.latest.tmp:1",
        "fsync:/checkpoints:1",
        "mkdir:/.live.tmp:1",
        "rename:/live/:1",
        "link:/checkpoints/:10",
        "symlink:/checkpoints/:2",
    ],
)
def test_killed_after_going_back_it_goes_on_from_there(program, with_all_kept, expected_by_batch, tmp_path, moment):
    """At once it is the older checkpoint that counts, not the later ones that still stand."""
    run = shutil.copytree(with_all_kept, tmp_path / "run", symlinks=True)
    old = sorted(path.parent.name for path in run.glob("checkpoints/0.*/state.json"))[2]
    assert program.resume(run, "--checkpoint", old, KILL=moment)[0] == -signal.SIGKILL
    latest = os.readlink(run / "checkpoints" / "latest")
    assert latest == ("2.0.0" if moment.startswith("rename:/checkpoints/.latest") else old)
    assert (run / "checkpoints" / "2.0.0").exists()
    assert differences(program.finish(run), expected_by_batch) == []


def test_lines_of_metrics_that_are_missing_are_told(program, run):
    os.truncate(run / "metrics.jsonl", 100)
    code, told = program.resume(run, "--set", "training.epochs=3")
    assert code == 0, told
    assert "metrics.jsonl: 100 bytes" in told
    assert "lines of what was trained before it are missing" in told


@pytest.mark.parametrize("command", ["eval", "export"])
def test_a_checkpoint_that_is_read_is_not_pruned(program, tmp_path, command):
    """While the run goes on and keeps one checkpoint."""
    run = tmp_path / "run"
    settings = ["--set", "training.epochs=400", "--set", "checkpoint.keep=1", "--set", "evaluation.every_epochs=0"]
    training = program.start(*program.training(run, *settings))
    try:
        while not (run / "checkpoints" / "latest").is_symlink():
            assert not training.over_within(0.02)
        more = ["--split", "valid"] if command == "eval" else ["--output", tmp_path / "out"]
        reading = program.start(command, run, *more, DELAY="open:/checkpoints/:150")
        code, told = reading.wait()
        assert code == 0, told
        assert not training.over_within(0)
        name = (
            json.loads((tmp_path / "out/export.json").read_text())["checkpoint"]
            if command == "export"
            else next(path.name.split(".valid")[0] for path in (run / "eval").iterdir())
        )
        last = os.readlink(run / "checkpoints" / "latest")
        assert last != name
        while os.readlink(run / "checkpoints" / "latest") == last:  # the next save clears it: nobody holds it now
            assert not training.over_within(0.02)
    finally:
        training.send(signal.SIGTERM)
        assert training.wait()[0] == 143
    assert not (run / "checkpoints" / name).exists()


def flip(path, at=-5):
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def test_a_damaged_chunk_is_named_when_it_is_loaded(program, run):
    flip(run / "checkpoints" / "latest" / "nodes" / "c" / "3" / "0")
    for result in (program.resume(run, "--set", "training.epochs=3"), program.start("eval", run, "--split", "valid").wait()):
        code, told = result
        assert code == 1, told
        assert "nodes/c/3/0" in error_in(told)
        assert "checksum" in error_in(told)


@pytest.mark.parametrize("name", ["dense.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "gone"])
def test_a_damaged_record_is_refused(program, run, name, damage):
    file = run / "checkpoints" / "2.0.0" / name
    if damage == "gone":
        file.unlink()
    elif damage == "flipped":
        flip(file, 1)
    else:
        os.truncate(file, file.stat().st_size // 2 if damage == "cut" else 0)
    result = program.resume(run, "--checkpoint", "2.0.0", "--set", "training.epochs=3")
    refused(result, "2.0.0: no whole checkpoint" if (name, damage) == ("state.json", "gone") else f"2.0.0/{name}")
    assert rows(run / "live")  # the rows of the run are as they were


def test_a_newer_run_is_refused(program, run):
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("format_version: 1", "format_version: 2"))
    refused(program.resume(run), "run format 2", "use the version that wrote it")
    config.write_text("format_version: 1\n")
    refused(program.resume(run), "config.yaml", "damaged")


def test_a_record_that_is_cut_short_is_refused(program, run):
    config = run / "config.yaml"
    lines = config.read_text().splitlines(keepends=True)
    assert lines[-1].startswith("checksum: ")
    for kept in (lines[:-1], lines[:-4], [*lines[:-1], "checksum:"], [*lines[:-1], lines[-1][:-3]]):
        config.write_text("".join(kept))
        refused(program.resume(run), "config.yaml")


def test_another_dataset_in_its_place_is_refused(program, run, tmp_path, tiny_edges):
    dataset = shutil.copytree(program.dataset, tmp_path / "dataset")
    config = run / "config.yaml"
    text = config.read_text().replace(str(program.dataset), str(dataset))
    text = text.replace(f"relative: {os.path.relpath(program.dataset, run)}", "relative: ../dataset")
    config.write_text(text)
    refused(program.resume(run), "changed by hand", "give it the line `checksum: none`")
    config.write_text(re.sub("checksum: .*", "checksum: none", text))
    assert program.resume(run)[0] == 0
    shutil.rmtree(dataset)
    refused(program.resume(run), "dataset")
    assert (
        program.start(
            "preprocess", tiny_edges, "--output", dataset, "--partitions", "6", "--seed", "1", "--split", "0.9,0.1,0"
        ).wait()[0]
        == 0
    )
    refused(program.resume(run), "fingerprint")


def test_a_killed_run_with_stale_updates_resumes_and_finishes(program, tmp_path):
    run, settings = tmp_path / "run", ["--set", "training.staleness=2"]
    assert program.train(run, *settings, KILL="symlink:/checkpoints/:2")[0] == -signal.SIGKILL
    found = program.finish(run, *settings)
    batches = [line for line in found["metrics"] if line["kind"] == "batch"]
    assert found["state"]["cursor"] == {"epoch": 2, "step": 0, "batch": 0}
    assert sum(line["edges"] for line in batches) == 2 * sum(line["edges"] for line in batches if line["epoch"] == 0)


@pytest.mark.parametrize("setting", ["storage.direct_io=false", "storage.prefetch=false", "storage.io_threads=1"])
def test_how_the_work_is_done_does_not_change_its_bits(program, expected, tmp_path, setting):
    assert differences(program.finish(tmp_path / "run", "--set", setting), expected) == []


def test_several_threads_give_the_same_bits_each_time(program, tmp_path):
    """Their number is part of the run: sums of products are split differently for another one."""
    settings = ["--set", "training.threads=2"]
    run = tmp_path / "run"
    assert program.train(run, *settings, KILL="symlink:/checkpoints/:2")[0] == -signal.SIGKILL
    assert differences(program.finish(run), program.finish(tmp_path / "whole", *settings)) == []


def test_a_run_that_checkpoints_after_each_batch_ends_like_one_that_never_does(program, expected_by_batch, tmp_path):
    seldom = [*EACH_BATCH, "--set", "checkpoint.every_minutes=1000"]
    assert differences(program.finish(tmp_path / "run", *seldom), expected_by_batch) == []
