import os
import shutil

import numpy as np
import pytest
import torch

from marius_lite import files
from marius_lite.checkpoint.dense import read_dense
from marius_lite.checkpoint.find import find, hold, published
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.save import go_back, mark_best, prune, recover, restore_live, save
from marius_lite.checkpoint.state import BestCheckpoint, Cursor, State, read_state
from marius_lite.errors import UserError
from marius_lite.storage import snapshots
from marius_lite.storage.metadata import create_group
from marius_lite.storage.table import RowTable

DENSE = {"model.relations": torch.arange(6.0).view(2, 3)}
PARTITIONS = 4


@pytest.fixture
def run(tmp_path):
    """A run with 4 partitions of live rows of 64 KiB each."""
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    create_group(folder.live)
    table = RowTable.create(folder.live / "nodes", 4 * 1024, 16, 1024)
    for k in range(PARTITIONS):
        write(folder, k, k)
    assert table.partitions == PARTITIONS
    return folder


def write(run, k, value):
    """Replace a chunk file as the buffer does."""
    files.write_atomic(run.live / "nodes" / "c" / str(k) / "0", np.full((1024, 16), value, np.float32).tobytes())


def saved(run, *place, keep=2, best=None):
    return save(run, State(Cursor(*place), "print", dict.fromkeys(range(PARTITIONS), 0), 0, best=best), DENSE, keep)


def chunks(folder):
    return [folder / "nodes" / "c" / str(k) / "0" for k in range(PARTITIONS)]


def names(run):
    return [path.name for path in published(run)]


def disk_bytes(root):
    """What a folder takes on disk, shared files once."""
    found = {path.lstat().st_ino: path.lstat().st_blocks * 512 for path in [root, *root.rglob("*")]}
    return sum(found.values())


def test_unchanged_rows_cost_no_copy(run):
    first = saved(run, 0, 0, 1)
    before = disk_bytes(run.path)
    second = saved(run, 0, 0, 2)
    for one, two, live in zip(chunks(first), chunks(second), chunks(run.live)):
        assert one.stat().st_ino == two.stat().st_ino == live.stat().st_ino
        assert one.stat().st_nlink == 3
    assert disk_bytes(run.path) - before <= 8192 * (PARTITIONS + 4)


def test_a_checkpoint_keeps_its_rows_while_live_ones_change(run):
    first = saved(run, 0, 0, 1)
    write(run, 2, 50)
    second = saved(run, 0, 0, 2)
    assert [np.fromfile(file, np.float32)[0] for file in chunks(first)] == [0, 1, 2, 3]
    assert [np.fromfile(file, np.float32)[0] for file in chunks(second)] == [0, 1, 50, 3]
    assert [one.stat().st_ino == two.stat().st_ino for one, two in zip(chunks(first), chunks(second))] == [
        True,
        True,
        False,
        True,
    ]


def test_state_and_tensors_come_back(run):
    state = State(Cursor(3, 1, 4), "print", {0: 7, 1: 8}, 99, 1.25, 5, True, BestCheckpoint("2.0.0", 0.5))
    folder = save(run, state, DENSE, 2)
    found = read_state(folder)
    assert found.to_json() == State(**{**state.__dict__, "dense": found.dense, "arrays": found.arrays}).to_json()
    assert torch.equal(read_dense(folder, found.dense)["model.relations"], DENSE["model.relations"])


def test_the_newest_are_kept_in_order_of_place_and_the_best(run):
    for epoch in (1, 2, 9, 10, 11):
        saved(run, epoch, best=BestCheckpoint("1.0.0", 0.1) if epoch > 1 else None)
        if epoch == 1:
            mark_best(run, "1.0.0", 2)
    assert names(run) == ["1.0.0", "10.0.0", "11.0.0"]
    assert find(run, None).name == find(run, "latest").name == "11.0.0"
    assert find(run, "best").name == "1.0.0"
    assert find(run, "10.0.0").name == "10.0.0"
    with pytest.raises(UserError, match=r"no checkpoint 2\.0\.0: there are 1\.0\.0, 10\.0\.0, 11\.0\.0"):
        find(run, "2.0.0")


def test_a_run_without_checkpoints_has_none(run):
    assert find(run, None) is None
    with pytest.raises(UserError, match="there are none"):
        find(run, "latest")


def test_after_going_back_later_checkpoints_go_and_best_is_what_the_state_says(run):
    saved(run, 1)
    mark_best(run, "1.0.0", 3)
    saved(run, 2, keep=3, best=BestCheckpoint("1.0.0", 0.1))
    mark_best(run, "2.0.0", 3)
    saved(run, 3, keep=3, best=BestCheckpoint("2.0.0", 0.2))
    saved(run, 1, 2, keep=3, best=BestCheckpoint("1.0.0", 0.1))
    assert find(run, "best").name == "1.0.0"
    assert sorted(os.listdir(run.checkpoints)) == ["1.0.0", "1.2.0", "best", "latest"]


def test_going_back_names_the_checkpoint_at_once(run):
    """Killed before the next save, the run goes on from there, not from what was furthest."""
    first = saved(run, 1)
    saved(run, 2, keep=3, best=BestCheckpoint("1.0.0", 0.1))
    mark_best(run, "2.0.0", 3)
    go_back(run, first)
    assert find(run, None) == first
    assert names(run) == ["1.0.0", "2.0.0"]
    assert not (run.checkpoints / "best").exists()  # the first checkpoint knew of none
    saved(run, 1, 3, keep=3)
    assert names(run) == ["1.0.0", "1.3.0"]


def test_what_a_reader_holds_is_pruned_once_it_let_go(run):
    saved(run, 1)
    _, held = hold(run, "1.0.0")
    saved(run, 2, keep=1)
    saved(run, 3, keep=1)
    assert names(run) == ["1.0.0", "3.0.0"]
    os.close(held)
    prune(run, 1)
    assert names(run) == ["3.0.0"]


def test_other_folders_are_left_alone(run):
    """Copies that somebody made, whatever they are called."""
    saved(run, 2)
    for name in ("2.0.0.bak", "02.0.0", "2.0", "old", "2.0.0-copy"):
        shutil.copytree(run.checkpoints / "2.0.0", run.checkpoints / name)
    saved(run, 3, keep=1)
    assert names(run) == ["3.0.0"]
    assert {"2.0.0.bak", "02.0.0", "2.0", "old", "2.0.0-copy"} < set(os.listdir(run.checkpoints))


def test_folders_that_a_copy_made_of_links_become_links_again(run):
    saved(run, 1)
    mark_best(run, "1.0.0", 3)
    saved(run, 2, keep=3, best=BestCheckpoint("1.0.0", 0.1))
    copied = RunFolder(shutil.copytree(run.path, run.path.with_name("copy"), symlinks=False))
    assert (copied.checkpoints / "latest").is_dir()
    assert find(copied, None).name == find(copied, "latest").name == "2.0.0"
    assert find(copied, "best").name == "1.0.0"
    saved(copied, 3, keep=3, best=BestCheckpoint("2.0.0", 0.2))
    assert [os.readlink(copied.checkpoints / name) for name in ("latest", "best")] == ["3.0.0", "2.0.0"]
    assert names(copied) == ["1.0.0", "2.0.0", "3.0.0"]


def test_a_best_that_was_pruned_is_pointed_to_no_more(run):
    saved(run, 1)
    mark_best(run, "1.0.0", 1)
    shutil.rmtree(run.checkpoints / "1.0.0")
    saved(run, 2, best=BestCheckpoint("1.0.0", 0.1))
    assert not (run.checkpoints / "best").is_symlink()


def test_the_same_place_again_replaces(run):
    old = saved(run, 0, 2, 1)
    write(run, 0, 9)
    new = saved(run, 0, 2, 1)
    assert old == new
    assert np.fromfile(chunks(new)[0], np.float32)[0] == 9
    assert sorted(os.listdir(run.checkpoints)) == ["0.2.1", "latest"]


def test_a_replacement_cut_between_its_renames_is_taken_back(run):
    """The only checkpoint is out of the way, the new one not yet in place."""
    saved(run, 0, 2, 1)
    (run.checkpoints / "0.2.1").rename(run.checkpoints / ".0.2.1.old.tmp")
    (run.checkpoints / ".0.2.1.tmp").mkdir()
    assert find(run, None) is None  # nothing that could be read
    recover(run)
    assert find(run, None).name == "0.2.1"
    assert sorted(os.listdir(run.checkpoints)) == ["0.2.1", "latest"]


def test_what_killed_saves_left_is_removed_by_the_next(run):
    run.checkpoints.mkdir()
    for left in (".0.0.1.tmp", ".0.0.2.old.tmp"):
        (run.checkpoints / left / "nodes").mkdir(parents=True)
    saved(run, 0, 0, 2)
    saved(run, 0, 0, 3)
    assert not [name for name in os.listdir(run.checkpoints) if name.endswith(".tmp")]


@pytest.mark.parametrize("failing", ["link_tree", "sync_tree", "publish", "point"])
def test_a_failed_save_leaves_earlier_checkpoints_and_nothing_else(run, failing, monkeypatch):
    first = saved(run, 0, 2, 1)
    before = first.stat().st_ino

    def fail(*arguments):
        raise OSError(28, "No space left on device", str(run.path))

    monkeypatch.setattr(snapshots if failing == "link_tree" else files, failing, fail)
    for place in ((0, 2, 1), (0, 3, 0)):
        with pytest.raises(files.RunError, match="the disk is full"):
            saved(run, *place)
    monkeypatch.undo()
    recover(run)
    assert find(run, None) == first
    assert failing == "point" or first.stat().st_ino == before
    assert not [name for name in os.listdir(run.checkpoints) if name.endswith(".tmp")]


def test_live_rows_come_back_by_links(run):
    folder = saved(run, 0, 0, 1)
    write(run, 1, 77)
    (run.live / "nodes" / "c" / "1" / ".0.tmp").write_bytes(b"torn")
    restore_live(run, folder)
    assert [live.stat().st_ino for live in chunks(run.live)] == [file.stat().st_ino for file in chunks(folder)]
    assert sorted(path.name for path in run.live.rglob("*") if path.is_file()) == ["0"] * 4 + ["zarr.json"] * 2
    assert RowTable.open(run.live / "nodes").partitions == PARTITIONS
    write(run, 1, 78)
    assert np.fromfile(chunks(folder)[1], np.float32)[0] == 1
