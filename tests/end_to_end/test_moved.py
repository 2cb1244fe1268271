"""Runs and datasets that were copied, linked to and moved are found, or it is said what is missing."""

import json
import re
import shutil

import pytest
from open_parts import LINKS

import marius_lite as ml
from marius_lite.errors import UserError


@pytest.fixture(scope="module")
def made(cli, tiny_dataset, tmp_path_factory):
    """A folder with a dataset and a run on it."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(tiny_dataset, folder / "dataset")
    settings = [part for item in LINKS for part in ("--set", item)]
    assert cli("train", folder / "dataset", "--run", folder / "run", *settings) == 0
    return folder


@pytest.fixture
def here(made, tmp_path):
    """A copy of both, whose absolute path is no more."""
    shutil.copytree(made, tmp_path / "here", symlinks=True)
    config = tmp_path / "here" / "run" / "config.yaml"
    config.write_text(re.sub("checksum: .*", "checksum: none", config.read_text().replace(str(made), str(tmp_path / "gone"))))
    return tmp_path / "here"


@pytest.fixture(scope="module")
def foreign(cli, tiny_edges, tmp_path_factory):
    """Another dataset."""
    folder = tmp_path_factory.mktemp("foreign") / "dataset"
    assert cli("preprocess", tiny_edges, "--output", folder, "--partitions", "4", "--seed", "9", "--split", "0.8,0.1,0.1") == 0
    return folder


def test_through_a_link_to_the_run(cli, here, tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "link").symlink_to(here / "run")
    assert cli("eval", tmp_path / "deep" / "er" / "link") == 0
    assert cli("resume", tmp_path / "deep" / "er" / "link", "--set", "training.epochs=3") == 0


def test_another_dataset_at_the_relative_place_does_not_hide_the_right_one(cli, made, foreign, tmp_path, capfd):
    """One warning says which is passed over, why, and which is taken."""
    run = shutil.copytree(made / "run", tmp_path / "run", symlinks=True)

    def warnings():
        capfd.readouterr()
        assert cli("eval", run) == 0
        return [line for line in capfd.readouterr().err.splitlines() if line.startswith("warning: ")]

    nothing_said = warnings()  # of datasets: none is there
    shutil.copytree(foreign, tmp_path / "dataset")
    for why in ("this dataset's fingerprint is", "not a dataset"):
        told, *others = warnings()
        assert others == nothing_said
        taken = f"warning: the run's dataset is taken from {made / 'dataset'}, where it was at the start; "
        assert told.startswith(f"{taken}passed over: {tmp_path / 'dataset'}: {why}")
        (tmp_path / "dataset" / "zarr.json").write_text("damaged")


def test_a_moved_dataset_is_named(cli, here, foreign, tmp_path, capfd):
    moved = shutil.move(here / "dataset", tmp_path / "elsewhere")
    (tmp_path / "q").write_text("node7\trel1\t?\n")
    commands = [
        ["eval", here / "run"],
        ["predict", here / "run", "--queries", tmp_path / "q"],
        ["export", here / "run", "--output", tmp_path / "out"],
        ["resume", here / "run", "--set", "training.epochs=3"],
    ]
    for command in commands:
        assert cli(*command) == 2
        assert "say with --dataset where it is now" in capfd.readouterr().err
        assert cli(*command, "--dataset", foreign) == 2
        assert "fingerprint" in capfd.readouterr().err
        assert cli(*command, "--dataset", tmp_path / "nowhere") == 2
        assert "no such folder" in capfd.readouterr().err
        assert cli(*command, "--dataset", moved) == 0
    assert cli("eval", here / "run") == 0  # the resumed run remembers


def test_the_functions_take_it_too(here, tmp_path):
    moved = shutil.move(here / "dataset", tmp_path / "elsewhere")
    (tmp_path / "q").write_text("node7\trel1\t?\n")
    with pytest.raises(UserError, match="its dataset is neither"):
        ml.evaluate_run(here / "run", "valid")
    assert ml.evaluate_run(here / "run", "valid", dataset=moved)["count"] == 232
    assert len(ml.predict_links(here / "run", tmp_path / "q", dataset=moved)) == 1
    assert ml.export_run(here / "run", tmp_path / "out", dataset=str(moved))["nodes"] == 300
    assert ml.resume_run(here / "run", dataset=moved)["epochs"] == 2


def test_copies_beside_the_checkpoints_break_nothing(cli, here, capfd):
    run = here / "run"
    shutil.copytree(run / "checkpoints" / "2.0.0", run / "checkpoints" / "2.0.0.bak")
    assert cli("info", run, "--json") == 0
    assert json.loads(capfd.readouterr().out)["checkpoints"][-1] == "2.0.0"
    assert cli("resume", run, "--set", "training.epochs=3") == 0
    assert cli("eval", run) == 0


def test_info_names_a_folder_that_is_no_whole_checkpoint(cli, here, capfd):
    run = here / "run"
    shutil.copytree(run / "checkpoints" / "2.0.0", run / "checkpoints" / "1.0.0", dirs_exist_ok=True)
    assert cli("info", run) == 0
    assert "no whole checkpoint" not in capfd.readouterr().err
    (run / "checkpoints" / "1.0.0" / "state.json").unlink()
    assert cli("info", run, "--verify") == 0
    assert "checkpoints/1.0.0: no whole checkpoint, it has no state.json" in capfd.readouterr().err
    assert cli("info", run, "--json") == 0
    assert len(json.loads(capfd.readouterr().out)["warnings"]) == 1


def test_a_copy_without_links_goes_on(cli, here, tmp_path, capfd):
    """As `cp -rL`, an archive or an object store makes it."""
    run = shutil.copytree(here / "run", here / "copy", symlinks=False)
    assert cli("info", run, "--verify", "--json") == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["latest"], told["verified"]) == ("2.0.0", True)
    assert cli("eval", run, "--checkpoint", "best") == 0
    assert cli("resume", run, "--set", "training.epochs=3") == 0
    assert (run / "checkpoints" / "latest").is_symlink()
    assert cli("info", run, "--json") == 0
    assert json.loads(capfd.readouterr().out.splitlines()[-1])["latest"] == "3.0.0"
