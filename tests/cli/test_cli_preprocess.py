"""preprocess and info from the command line: exit codes, one line of error, one JSON object."""

import json
import subprocess
import sys

import numpy as np

COMMAND = [sys.executable, "-c", "from marius_lite.cli.main import main; main()"]


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True)


def test_preprocess_then_info(tmp_path):
    (tmp_path / "e.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    made = run("preprocess", tmp_path / "e.tsv", "--output", tmp_path / "d", "--undirected", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["edges"]["train"]["stored"] == 4
    shown = run("info", tmp_path / "d", "--verify", "--json")
    assert shown.returncode == 0, shown.stderr
    facts = json.loads(shown.stdout)
    assert (facts["nodes"], facts["edges"], facts["verified"]) == (3, {"train": 4}, True)
    assert "fingerprint" in run("info", tmp_path / "d").stdout


def test_features_from_the_command_line(tmp_path):
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


def test_wrong_input_is_exit_2_with_one_line(tmp_path):
    (tmp_path / "e.tsv").write_text("a\tr\tb\nb\tr\n")
    for arguments in [("preprocess", tmp_path / "e.tsv", "--output", tmp_path / "d"), ("info", tmp_path)]:
        found = run(*arguments)
        assert found.returncode == 2
        last = found.stderr.strip().splitlines()[-1]
        assert last.startswith(f"marius-lite: {tmp_path}")
        assert "Traceback" not in found.stderr
        assert found.stdout == ""
    assert not (tmp_path / "d").exists()
