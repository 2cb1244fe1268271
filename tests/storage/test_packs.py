"""Packs return the rows that were appended, however they were cut; their file has no name; damage and a full disk are told."""

import errno
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.errors import RunError
from marius_lite.storage.packs import KeptObjects, Packs

STRIDE = 48


def records(rows, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (rows, STRIDE), np.uint8).view(np.float32)


@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6), seed=st.integers(0, 1000))
def test_each_pack_has_its_rows(tmp_path_factory, sizes, seed):
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("packs")
    rows = [records(size, k) for k, size in enumerate(sizes)]
    packs = Packs(folder, sizes, STRIDE)
    left = [list(np.array_split(each, rng.integers(1, 5))) for each in rows]
    while pending := [k for k, parts in enumerate(left) if parts]:
        k = int(rng.choice(pending))
        packs.append(k, left[k].pop(0))
    for k in rng.permutation(len(sizes)):
        out = np.empty_like(rows[k])
        packs.read_into(k, out)
        np.testing.assert_array_equal(out.view(np.uint8), rows[k].view(np.uint8))
    assert list(folder.iterdir()) == []
    packs.close()
    packs.close()


@pytest.mark.parametrize("damage", ["changed", "cut short"])
def test_damage_is_told(tmp_path, damage):
    packs, kept, rows = Packs(tmp_path, [3, 5], STRIDE), KeptObjects(tmp_path), records(5)
    packs.append(0, rows[:3])
    packs.append(1, rows)
    first, second = kept.keep(np.arange(3)), kept.keep(("text", np.arange(9)))
    for file, at, end in ((packs._file, 5 * STRIDE, 7 * STRIDE), (kept._file, 70, 100)):
        if damage == "changed":
            os.pwrite(file._descriptor, b"\xff\x01\xff", at)
        else:
            os.ftruncate(file._descriptor, end)
    packs.read_into(0, np.empty_like(rows[:3]))
    np.testing.assert_array_equal(kept.read(first), np.arange(3))
    with pytest.raises(RunError, match=f"{tmp_path}: a temporary file was changed"):
        packs.read_into(1, np.empty_like(rows))
    with pytest.raises(RunError, match=f"{tmp_path}: a temporary file was changed"):
        kept.read(second)
    packs.close()
    kept.close()


def test_objects_come_back_with_arrays_of_their_own(tmp_path):
    kept, ids = KeptObjects(tmp_path), np.arange(5)
    whole = {"ids": ids, "again": ids, "none": None, "empty": np.empty((0, 3)), "bytes": np.arange(7, dtype=np.uint8), "n": 4}
    places = [kept.keep(whole), kept.keep("no array"), kept.keep(whole)]
    assert kept.size == 2 * (64 + 64)
    assert kept.read(places[1]) == "no array"
    found = kept.read(places[2])
    assert found["again"] is found["ids"]
    for name, value in whole.items():
        np.testing.assert_array_equal(found[name], value)
    found["ids"][0] = 9
    assert kept.read(places[2])["ids"][0] == 0
    assert list(tmp_path.iterdir()) == []
    kept.close()
    kept.close()


def test_the_disk_space_is_taken_at_once(tmp_path, monkeypatch):
    def full(descriptor, offset, size):
        assert (offset, size) == (0, 8 * STRIDE)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(RunError, match="the disk is full"):
        Packs(tmp_path, [3, 5], STRIDE)
    assert len(os.listdir("/proc/self/fd")) == before
    assert list(tmp_path.iterdir()) == []


def test_short_writes_and_reads_go_on(tmp_path, monkeypatch):
    write, read = os.pwrite, os.preadv
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: write(fd, data[:7], at))
    monkeypatch.setattr(os, "preadv", lambda fd, out, at: read(fd, [out[0][:5]], at))
    packs, rows = Packs(tmp_path, [4], STRIDE), records(4)
    packs.append(0, rows)
    out = np.empty_like(rows)
    packs.read_into(0, out)
    np.testing.assert_array_equal(out.view(np.uint8), rows.view(np.uint8))
    packs.close()


@pytest.mark.parametrize("sizes", [[2, 7], [1], [12, 0, 3]])
def test_packs_may_have_the_file_of_earlier_ones(tmp_path, monkeypatch, sizes):
    earlier = Packs(tmp_path, [3, 5], STRIDE)
    for pack, count in enumerate([3, 5]):
        earlier.append(pack, records(count))
    taken, more, fewer = [], os.posix_fallocate, os.ftruncate
    monkeypatch.setattr(os, "posix_fallocate", lambda fd, at, size: (taken.append(size), more(fd, at, size)))
    monkeypatch.setattr(os, "ftruncate", lambda fd, size: (taken.append(size), fewer(fd, size)))
    packs, before = Packs(tmp_path, sizes, STRIDE, earlier.take_file()), len(os.listdir("/proc/self/fd"))
    assert taken == [sum(sizes) * STRIDE]
    assert os.fstat(packs.take_file()._descriptor).st_size == sum(sizes) * STRIDE
    rows = [records(count) + 1 for count in sizes]
    for pack, each in enumerate(rows):
        packs.append(pack, each)
    for pack, each in enumerate(rows):
        packs.read_into(pack, out := np.empty_like(each))
        np.testing.assert_array_equal(out.view(np.uint8), each.view(np.uint8))
    packs.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1
