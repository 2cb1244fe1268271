"""preprocess and info from the command line: exit codes, one line of error, one JSON object."""

import json
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest


@pytest.fixture
def run(cli, capfd):
    """Runs a command in this process: its exit code and what it printed."""

    def run(*arguments):
        capfd.readouterr()
        code = cli(*arguments)
        return Done(code, *capfd.readouterr())

    return run


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def test_a_process_prints_what_the_command_does_here(run, tiny_dataset, tmp_path):
    for arguments in (("info", tiny_dataset, "--json"), ("info", tmp_path)):
        command = [sys.executable, "-c", "from marius_lite.cli.main import main; main()", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == run(*arguments)


def test_preprocess_then_info(run, tmp_path):
    (tmp_path / "e.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    made = run("preprocess", tmp_path / "e.tsv", "--output", tmp_path / "d", "--undirected", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["edges"]["train"]["stored"] == 4
    shown = run("info", tmp_path / "d", "--verify", "--json")
    assert shown.returncode == 0, shown.stderr
    facts = json.loads(shown.stdout)
    assert (facts["nodes"], facts["edges"], facts["verified"]) == (3, {"train": 4}, True)
    assert "fingerprint" in run("info", tmp_path / "d").stdout


def test_info_gives_the_segments_that_preprocess_wrote_a_name(run, tmp_path):
    (tmp_path / "e.tsv").write_text("".join(f"{n}\t{n + 1}\n" for n in range(99)))
    (tmp_path / "new.tsv").write_text("200\t3\n")
    assert run("preprocess", tmp_path / "e.tsv", "--output", tmp_path / "d").returncode == 0
    assert run("update", tmp_path / "d", tmp_path / "new.tsv").returncode == 0
    shown = run("info", tmp_path / "d").stdout
    assert "train name first, nodes 100; name 2, nodes 101" in shown
    assert "name ," not in shown
    assert json.loads(run("info", tmp_path / "d", "--json").stdout)["segments"]["train"][0]["name"] == ""


def test_features_from_the_command_line(run, tmp_path):
    (tmp_path / "e.tsv").write_text("a\tb\nb\tc\n")
    (tmp_path / "ids.txt").write_text("c\nb\na\nalone\n")
    np.save(tmp_path / "x.npy", np.arange(8.0).reshape(4, 2))
    options = [tmp_path / "e.tsv", "--output", tmp_path / "d", "--features", tmp_path / "x.npy"]
    found = run("preprocess", *options)
    assert found.returncode == 2
    assert "--node-ids" in found.stderr.strip().splitlines()[-1]
    assert not (tmp_path / "d").exists()
    made = run("preprocess", *options, "--node-ids", tmp_path / "ids.txt")
    assert made.returncode == 0, made.stderr
    assert "4 nodes with 2 features (float32)" in made.stdout
    facts = json.loads(run("info", tmp_path / "d", "--verify", "--json").stdout)
    assert (facts["nodes"], facts["features"]) == (4, {"width": 2, "dtype": "float32"})
    assert "width 2, dtype float32" in run("info", tmp_path / "d").stdout


def test_wrong_input_is_exit_2_with_one_line(run, tmp_path):
    (tmp_path / "e.tsv").write_text("a\tr\tb\nb\tr\n")
    for arguments in [("preprocess", tmp_path / "e.tsv", "--output", tmp_path / "d"), ("info", tmp_path)]:
        found = run(*arguments)
        assert found.returncode == 2
        last = found.stderr.strip().splitlines()[-1]
        assert last.startswith(f"marius-lite: {tmp_path}")
        assert "Traceback" not in found.stderr
        assert found.stdout == ""
    assert not (tmp_path / "d").exists()


def test_labels_from_the_command_line(run, tmp_path):
    np.save(tmp_path / "e.npy", np.random.default_rng(0).integers(0, 9, (30, 2)))
    np.save(tmp_path / "y.npy", np.arange(9) % 3)
    for name, ids in {"train": "0\n1\n2\n3\n", "valid": "4\n", "test": "5\n6\n"}.items():
        (tmp_path / name).write_text(ids)
    made = run(
        "preprocess",
        tmp_path / "e.npy",
        "--output",
        tmp_path / "d",
        "--labels",
        tmp_path / "y.npy",
        "--train-nodes",
        tmp_path / "train",
        "--valid-nodes",
        tmp_path / "valid",
        "--test-nodes",
        tmp_path / "test",
    )
    assert made.returncode == 0, made.stderr
    assert "9 nodes with 3 classes (4 train, 1 valid, 2 test)" in made.stdout
    facts = json.loads(run("info", tmp_path / "d", "--verify", "--json").stdout)
    assert (facts["labels"], facts["node_split"]) == ({"classes": 3}, {"train": 4, "valid": 1, "test": 2})
    assert "node split" in run("info", tmp_path / "d").stdout.replace("_", " ")


def test_partitioner_from_the_command_line(run, tmp_path):
    (tmp_path / "e.tsv").write_text("a\tb\nb\tc\nd\te\ne\tf\n")
    options = [tmp_path / "e.tsv", "--output", tmp_path / "d", "--partitions", "2"]
    found = run("preprocess", *options, "--partitioner", "spectral")
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert "--partitioner spectral: unknown: use one of random, locality, metis" in found.stderr
    made = run("preprocess", *options, "--partitioner", "locality", "--json")
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)
    facts = json.loads(run("info", tmp_path / "d", "--json").stdout)
    for name in ("partitioner", "edge_cut", "balance"):
        assert facts[name] == told[name]
    assert (told["partitioner"], told["balance"]["nodes"]) == ("locality", 1)
