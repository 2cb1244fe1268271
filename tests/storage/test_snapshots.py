"""Snapshots of a live group share its files, appear whole or not at all, and come back by links."""

import os

import pytest

from marius_lite import files
from marius_lite.storage import snapshots
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.metadata import create_group
from marius_lite.storage.table import RowTable

PARTITIONS = 3


@pytest.fixture
def live(tmp_path):
    """A group with a table of 3 partitions, each filled with its number."""
    create_group(tmp_path / "live")
    RowTable.create(tmp_path / "live/rows", 10, 4, 4)
    for k in range(PARTITIONS):
        fill(tmp_path / "live", k, k)
    (tmp_path / "kept").mkdir()
    return tmp_path / "live"


def fill(live, k, value):
    """Change a partition as training does."""
    with PartitionBuffer(RowTable.open(live / "rows"), 1) as buffer:
        buffer.enter([k])
        buffer.resident.view(k)[:] = value
        buffer.mark_dirty([k])


def taken(live, name="one"):
    snapshot = live.parent / "kept" / name
    snapshots.begin(live, snapshot)
    (snapshots.unfinished(snapshot) / "state").write_text(name)
    snapshots.publish(snapshot)
    return snapshot


def values(group):
    table = RowTable.open(group / "rows")
    return [float(table.read_rows(k, [0])[0, 0]) for k in range(PARTITIONS)]


def places(group):
    table = RowTable.open(group / "rows")
    return [table.chunk_path(k).stat().st_ino for k in range(PARTITIONS)]


def test_link_tree_shares_blocks_and_leaves_torn_writes_behind(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/0").write_bytes(b"rows")
    (tmp_path / "a/b/.0.tmp").write_bytes(b"torn")
    snapshots.link_tree(tmp_path / "a", tmp_path / "c")
    assert os.listdir(tmp_path / "c/b") == ["0"]
    assert (tmp_path / "c/b/0").stat().st_ino == (tmp_path / "a/b/0").stat().st_ino


@pytest.mark.parametrize("links", [True, False])
def test_a_snapshot_stays_as_it_was_whatever_is_written_later(live, monkeypatch, links):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    snapshot = taken(live)
    assert (places(snapshot) == places(live)) == links
    fill(live, 1, 77)
    assert (values(live), values(snapshot)) == ([0, 77, 2], [0, 1, 2])


def test_nothing_stands_under_its_name_before_it_is_published(live):
    snapshot = live.parent / "kept/one"
    snapshots.begin(live, snapshot)
    assert not snapshot.exists()
    snapshots.recover(snapshot.parent)
    assert not os.listdir(snapshot.parent)


def test_a_snapshot_of_the_same_name_is_replaced(live):
    taken(live)
    fill(live, 0, 5)
    snapshot = taken(live)
    assert values(snapshot) == [5, 1, 2]
    assert os.listdir(snapshot.parent) == ["one"]


def test_a_replacement_that_was_cut_short_is_taken_back(live, monkeypatch):
    snapshot, publish = taken(live), files.publish

    def cut_short(source, target):
        if target == snapshot:
            raise KeyboardInterrupt
        publish(source, target)

    monkeypatch.setattr(files, "publish", cut_short)
    fill(live, 0, 5)
    with pytest.raises(KeyboardInterrupt):
        taken(live)
    monkeypatch.undo()
    assert not snapshot.exists()
    snapshots.recover(snapshot.parent)
    assert values(snapshot) == [0, 1, 2]
    assert os.listdir(snapshot.parent) == ["one"]


def test_a_group_comes_back_without_the_snapshots_own_files(live):
    snapshot = taken(live)
    fill(live, 2, 9)
    snapshots.restore(snapshot, live)
    assert values(live) == [0, 1, 2]
    assert places(live) == places(snapshot)
    assert sorted(os.listdir(live)) == ["rows", "zarr.json"]
    fill(live, 2, 9)
    assert values(snapshot) == [0, 1, 2]


def test_what_is_discarded_loses_its_name_before_a_file(live, monkeypatch):
    snapshot, seen, remove = taken(live), [], files.remove_tree
    monkeypatch.setattr(files, "remove_tree", lambda path: (seen.append((path.name, snapshot.exists())), remove(path)))
    snapshots.discard(snapshot)
    assert seen == [(".one.tmp", False)]
    assert not os.listdir(snapshot.parent)
    assert values(live) == [0, 1, 2]
