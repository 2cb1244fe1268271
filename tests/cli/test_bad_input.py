"""Wrong input to a command: exit code 2, one line that says what, where and what to do, and nothing half-written."""

import json
import shutil

import pytest


@pytest.fixture
def refused(cli, capfd):
    """Runs a command that must be refused; its one line on standard error."""
    def run(*arguments):
        capfd.readouterr()
        assert cli(*arguments) == 2
        out, err = capfd.readouterr()
        beside = ("verify: ", "settings of preset:")  # a bar, a note
        lines = [line for line in err.splitlines() if line and not line.startswith(beside)]
        assert len(lines) == 1, err
        assert out == ""
        assert "Traceback" not in err
        return lines[0]
    return run


@pytest.mark.parametrize(("key", "said"), [
    ("model.dims=8", "did you mean `model.dim`"),
    ("model.dim=-1", "`model.dim` is -1"),
    ("loss.margin=2", "`loss.margin` is 2.0"),
    ("storage.capacity=5", "the dataset has 4 partitions"),
    ("storage.capacity=1", "needs"),
    ("storage.memory=1MB", "`storage.memory` is 1.00 MB"),
    ("training.epochs=soon", "`training.epochs` is 'soon'"),
    ("device=cuda:99", "CUDA"),
    ("evaluation.split=test2", "`evaluation.split`"),
    ("epochs=3", "unknown key `epochs`"),
])
@pytest.mark.parametrize("command", ["train", "plan"])
def test_settings(refused, tiny_dataset, tmp_path, command, key, said):
    if command == "plan" and key.startswith("device"):
        pytest.skip("plan does not open the device")
    run = ["--run", tmp_path / "run"] if command == "train" else []
    assert said in refused(command, tiny_dataset, *run, "--set", key)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_no_dataset(refused, tmp_path):
    for command, *rest in (("train", "--run", tmp_path / "run"), ("plan",), ("info",)):
        assert str(tmp_path / "none") in refused(command, tmp_path / "none", *rest)


def test_a_folder_that_is_no_run(refused, tmp_path):
    for command in ("resume", "eval"):
        assert "not a run folder" in refused(command, tmp_path)


def test_a_run_folder_that_exists(refused, tiny_dataset, tmp_path):
    (tmp_path / "something").write_text("")
    assert "exists already" in refused("train", tiny_dataset, "--run", tmp_path)


@pytest.fixture
def copied(tiny_dataset, tmp_path):
    return shutil.copytree(tiny_dataset, tmp_path / "copied")


def test_a_truncated_dataset(refused, copied, tmp_path):
    file = copied / "edges/train/src/c/0"
    file.write_bytes(file.read_bytes()[:-1])
    assert "edges/train/src/c/0" in refused("train", copied, "--run", tmp_path / "run")


def test_a_changed_dataset(refused, copied, tmp_path):
    file = copied / "edges/train/dst/c/0"
    damaged = bytearray(file.read_bytes())
    damaged[1000] ^= 1
    file.write_bytes(damaged)
    assert "does not match its checksum" in refused("train", copied, "--run", tmp_path / "run")
    assert "dst" in refused("info", copied, "--verify")


def test_a_dataset_of_another_format(refused, copied):
    file = copied / "zarr.json"
    tree = json.loads(file.read_text())
    tree["attributes"]["marius_lite"]["format_version"] = 999
    file.write_text(json.dumps(tree))
    assert "999" in refused("info", copied)


def test_unknown_options_and_commands(refused):
    assert "--frobnicate" in refused("train", "x", "--frobnicate")
    assert "fly" in refused("fly")
