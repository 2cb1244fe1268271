"""Wrong input to a command: exit code 2, one line that says what, where and what to do, and nothing half-written."""

import json
import shutil
import subprocess
import sys
import zipfile

import pytest
import torch


@pytest.fixture
def refused(cli, capfd):
    """Runs a command that must be refused; its one line on standard error."""

    def run(*arguments):
        capfd.readouterr()
        assert cli(*arguments) == 2
        out, err = capfd.readouterr()
        beside = ("verify: ", "settings of preset:", "training on ")  # a bar, a note, a start
        lines = [line for line in err.splitlines() if line and not line.startswith(beside)]
        assert len(lines) == 1, err
        assert out == ""
        assert "Traceback" not in err
        return lines[0]

    return run


@pytest.mark.parametrize(
    ("key", "said"),
    [
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
    ],
)
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


def test_advice_of_python_is_not_passed_on(refused, tiny_dataset):
    line = refused("plan", tiny_dataset, "--set", f"model.dim={'9' * 5000}")
    assert "4300 digits" in line
    assert "sys." not in line


def test_an_error_that_nobody_thought_of(cli, tiny_dataset, capfd, monkeypatch):
    def stumble(*_):
        raise LookupError("some\nthing")

    monkeypatch.setattr("marius_lite.graph.describe.describe_dataset", stumble)
    capfd.readouterr()
    assert cli("info", tiny_dataset) == 1
    err = capfd.readouterr().err
    assert len(err.splitlines()) == 1
    assert "unexpected error: LookupError: some\\nthing" in err
    assert "MARIUS_LITE_TRACEBACK=1" in err
    monkeypatch.setenv("MARIUS_LITE_TRACEBACK", "1")
    assert cli("info", tiny_dataset) == 1
    assert "Traceback (most recent call last)" in capfd.readouterr().err


def test_a_gpu_without_memory_is_said_to_be_full(cli, tiny_dataset, capfd, monkeypatch):
    def stumble(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nGPU 0 has 1 GiB free")

    monkeypatch.setattr("marius_lite.graph.describe.describe_dataset", stumble)
    capfd.readouterr()
    assert cli("info", tiny_dataset) == 1
    err = capfd.readouterr().err
    assert "CUDA out of memory. Tried to allocate 2.00 GiB.: end what else uses the GPU" in err
    assert "CUDA_VISIBLE_DEVICES= " in err
    assert len(err.splitlines()) == 1


def test_control_characters_never_reach_the_terminal(refused, tmp_path, capfd, cli):
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        archive.writestr("\x1b[31mred.tsv", "a\tb\n")
        archive.writestr("\u202eother", "")
    said = refused("preprocess", tmp_path / "e.zip", "--output", tmp_path / "d")
    assert r"\x1b[31mred.tsv, \u202eother" in said
    assert cli("preprocess", f"{tmp_path / 'e.zip'}:*red.tsv", "--output", tmp_path / "d") == 0
    out, err = capfd.readouterr()
    assert "\x1b" not in out + err
    assert r"\x1b[31mred.tsv: read as" in err


@pytest.mark.parametrize("name", ["d\udcff", "d\nx", "d\x1b"])
def test_names_that_nobody_can_write(refused, tiny_dataset, tmp_path, name):
    for command, option in (
        (("train", tiny_dataset), "--run"),
        (("repartition", tiny_dataset, "--partitions", 2), "--output"),
        (("export", tmp_path), "--output"),
    ):
        assert option in refused(*command, option, tmp_path / name)


def test_a_folder_whose_name_is_not_utf_8(refused, cli, tiny_dataset, tmp_path):
    odd = tmp_path / "d\udcff"
    shutil.copytree(tiny_dataset, odd)
    for command in (
        ("info", odd),
        ("train", odd, "--run", tmp_path / "run"),
        ("repartition", odd, "--partitions", 2, "--output", tmp_path / "e"),
    ):
        assert r"d\udcff: the name is not UTF-8: rename it" in refused(*command)


def test_closed_standard_error_is_no_reason_to_stop(tiny_edges, tmp_path):
    program = "from marius_lite.cli.main import main; main()"
    for arguments in (f"preprocess {tiny_edges} --output {tmp_path / 'd'}", f"info {tmp_path / 'd'}"):
        done = subprocess.run(f"{sys.executable} -c '{program}' {arguments} 2>&-", shell=True, stdout=subprocess.PIPE, text=True)
        assert done.returncode == 0
    assert "fingerprint" in done.stdout
