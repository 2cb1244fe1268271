"""Datasets and runs of earlier states of the program open, mean the same, and go on; tests/data/make_old_runs.py makes them.

Another processor may add in another order, so losses, scores and figures are compared within a tolerance. Figures after more
training have a wider one: where two scores are nearly equal the ranks may change places, and there are two hundred ranks.
"""

import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

ARCHIVES = sorted((Path(__file__).parents[1] / "data/old_runs").glob("*.tar.xz"))
KINDS = ["links", "encoded", "classes"]
TOLERANCE = 1e-3
OF_RANKS = 1e-2


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def unpacked(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(request.param) as packed:
        packed.extractall(folder, filter="data")
    return folder


@pytest.fixture(params=KINDS)
def old(request, unpacked, tmp_path):
    """A folder with a dataset, a run in the middle and what the old program made of them, to work on."""
    if request.param != "links":
        pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    return shutil.copytree(unpacked / request.param, tmp_path / "old", symlinks=True)


@pytest.fixture
def recorded(old):
    return json.loads((old / "recorded.json").read_text())


@pytest.fixture
def ask(cli, capfd):
    """What a command prints with --json."""

    def ask(*arguments):
        assert cli(*arguments, "--json") == 0, capfd.readouterr().err
        return json.loads(capfd.readouterr().out)

    return ask


def leaves(tree, path=()):
    """What stands in nested lists and dictionaries, by where it stands."""
    if not isinstance(tree, dict | list):
        return {path: tree}
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return {place: leaf for key, value in items for place, leaf in leaves(value, (*path, key)).items()}


def differences(found, expected, tolerance=TOLERANCE):
    """Leaves of what was recorded that are another now; there may be more than was recorded."""
    found, expected = leaves(found), leaves(expected)
    return {path: (found.get(path), leaf) for path, leaf in expected.items() if not alike(found.get(path), leaf, tolerance)}


def alike(found, expected, tolerance):
    return found == (pytest.approx(expected, rel=tolerance, abs=tolerance) if type(expected) is float else expected)


def test_there_are_old_runs():
    assert ARCHIVES


def test_all_is_as_its_checksums_say(old, ask):
    assert ask("info", old / "dataset", "--verify")["verified"]
    assert ask("info", old / "run", "--verify")["verified"]


def test_a_checkpoint_has_the_figures_it_had(old, recorded, ask):
    assert differences(ask("eval", old / "run", "--checkpoint", "latest"), recorded["eval"]) == {}


def test_a_checkpoint_answers_as_it_did(old, recorded, ask):
    dataset = shutil.move(old / "dataset", old / "moved")
    asked = ["--checkpoint", "latest", "--queries", old / "queries.tsv", "--dataset", dataset]
    assert differences(ask("predict", old / "run", *asked), recorded["predict"]) == {}


def test_a_checkpoint_is_exported_as_it_was(old, recorded, ask, tmp_path):
    told = ask("export", old / "run", "--checkpoint", "latest", "--format", "npy", "--output", tmp_path / "now")
    assert {key: told[key] for key in recorded["export"] if key != "output"} == {
        key: value for key, value in recorded["export"].items() if key != "output"
    }
    for path in sorted((old / "exported").glob("*.npy")):
        now, before = np.load(tmp_path / "now" / path.name), np.load(path)
        if before.dtype.kind == "f":
            np.testing.assert_allclose(now, before, rtol=TOLERANCE, atol=TOLERANCE)
        else:
            np.testing.assert_array_equal(now, before)


def test_a_run_goes_on_as_it_would_have(old, recorded, ask):
    assert recorded["cursor"].startswith("2.")
    ask("resume", old / "run")
    lines = [json.loads(line) for line in (old / "run/metrics.jsonl").read_text().splitlines()]
    for kind, tolerance in (("epoch", TOLERANCE), ("evaluation", OF_RANKS)):
        now, before = [line for line in lines if line["kind"] == kind], recorded[f"{kind}s"]
        assert len(now) == len(before)
        assert differences(now, before, tolerance) == {}
