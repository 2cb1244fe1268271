"""Writing in-edge lists: within the memory, or refused before anything is written; and the native kernel's checks."""

import numpy as np
import pytest
from preprocess_tools import make

from marius_lite import _native
from marius_lite.errors import UserError


def test_lists_that_do_not_fit_are_refused(tmp_path):
    edges = np.random.default_rng(0).integers(0, 1000, (250_000, 2))
    edges[:, 1] //= 900  # most edges end in two nodes
    np.save(tmp_path / "e.npy", edges)
    with pytest.raises(UserError, match=r"the \d+,\d+ in-edges of partition \d take 1\.\d\d MB, 0\.79 MB are free"):
        make(tmp_path / "d", tmp_path / "e.npy", partitions=4, memory="1MiB", adjacency="in")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.npy"]
    make(tmp_path / "d", tmp_path / "e.npy", partitions=4, memory="4MiB", adjacency="in").verify()


def test_unknown_directions_are_refused(tmp_path):
    with pytest.raises(UserError, match="--adjacency out: unknown: use one of auto, none, in"):
        make(tmp_path / "d", tmp_path / "e.npy", adjacency="out")


def test_the_space_for_lists_is_asked_for(tmp_path, monkeypatch):
    np.save(tmp_path / "e.npy", np.zeros((10_000, 2), int))
    monkeypatch.setattr("marius_lite.files.free_bytes", lambda _: 220_000)
    make(tmp_path / "without", tmp_path / "e.npy")
    with pytest.raises(UserError, match="preprocessing about 10,000 edges needs"):
        make(tmp_path / "d", tmp_path / "e.npy", adjacency="in")


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_edges_without_a_place_are_refused(dtype):
    def append(dst, cursors):
        sources, rels = np.zeros(2, dtype), np.zeros(2, np.uint32)
        src = np.array([3], np.uint32)
        _native.append_in_edges(src, np.array([dst], np.uint32), src, 10, np.array(cursors), sources, rels)
        return sources.tolist(), rels.tolist()

    assert append(1, [0, 1]) == ([0, 13], [0, 3])
    for dst, cursors in ((2, [0, 1]), (1, [0, 2]), (0, [-1, 0])):
        with pytest.raises(ValueError, match="an edge has no place"):
            append(dst, cursors)
