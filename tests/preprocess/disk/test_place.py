"""What is left of a command that was killed while it put its dataset in place."""

import fcntl
import shutil

import numpy as np
import pytest
from preprocess_tools import data_files, make

from marius_lite.errors import RunError, UserError
from marius_lite.graph import Dataset
from marius_lite.preprocess.disk import place


@pytest.fixture
def half_placed(tmp_path, monkeypatch):
    """A dataset in its place, beside the one that it replaced; what remembered its passes is still inside."""
    np.save(tmp_path / "e.npy", np.arange(20).reshape(10, 2))
    make(tmp_path / "d", tmp_path / "e.npy")
    shutil.copytree(tmp_path / "d", tmp_path / "expected")

    def killed(_):
        raise RunError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(place, "_clear_up", killed)
        with pytest.raises(RunError, match="killed"):
            make(tmp_path / "d", tmp_path / "e.npy", overwrite=True)
    return tmp_path / "d"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_it_is_a_whole_dataset_and_cleared_up_by_the_next_command(half_placed):
    assert {"progress.json", "lock"} <= set(names(half_placed))
    Dataset.open(half_placed).verify()
    with pytest.raises(UserError, match="d: exists already"):
        make(half_placed, half_placed.parent / "e.npy")
    assert names(half_placed.parent) == ["d", "e.npy", "expected"]
    assert data_files(half_placed) == data_files(half_placed.parent / "expected")


def test_the_old_dataset_comes_back_where_there_is_no_new_one(half_placed):
    shutil.move(half_placed, half_placed.with_name(".d.tmp"))
    with pytest.raises(UserError, match="d: exists already"):
        make(half_placed, half_placed.parent / "e.npy")
    assert names(half_placed.parent) == [".d.tmp", "d", "e.npy", "expected"]
    assert data_files(half_placed) == data_files(half_placed.parent / "expected")


def test_a_command_that_is_still_at_it_is_left_alone(half_placed):
    with open(half_placed / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another process works on this folder"):
            make(half_placed, half_placed.parent / "e.npy")
    assert "progress.json" in names(half_placed)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"command": "x", "passes": "{\\"dataset\\": 1}", "sha256": "0"}'])
def test_another_progress_file_is_not_touched(half_placed, text):
    (half_placed / "progress.json").write_text(text)
    with pytest.raises(UserError, match="d: exists already"):
        make(half_placed, half_placed.parent / "e.npy")
    assert (half_placed / "progress.json").read_text() == text
