"""Edges of an older version come again in part: the new ones all, others in each epoch, as many as was said."""

from collections import Counter

import numpy as np
import pytest

import marius_lite
from marius_lite.sampling.replayed import ReplayedEdges
from marius_lite.sampling.windows import Cut, WindowReader, windows_of
from marius_lite.types import Step


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("versions"), np.random.default_rng(1)
    np.save(folder / "e.npy", rng.integers(0, (50, 3, 50), (900, 3)))
    np.save(folder / "new.npy", rng.integers(0, (70, 4, 70), (100, 3)))
    marius_lite.make_dataset(folder / "e.npy", folder / "d", partitions=2)
    marius_lite.update_dataset(folder / "d", folder / "new.npy")
    return [marius_lite.open_dataset(f"{folder / 'd'}@{n}").edges("train") for n in (1, 2)]


def read(edges, i, j, *epoch):
    columns = [np.empty(int(edges.counts[i, j]), np.uint32) for _ in range(3)]
    assert edges.read_into([(i, j)], *columns, *epoch) == len(columns[0])
    return Counter(zip(*(column.tolist() for column in columns)))


@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_new_edges_all_and_a_share_of_the_old(versions, share):
    before, now = versions
    replayed = ReplayedEdges(now, before, share, seed=3)
    p = now.partitioning.partitions
    assert p > before.partitioning.partitions
    assert replayed.total == replayed.counts.sum()
    seen = Counter()
    for i in range(p):
        for j in range(p):
            whole = read(now, i, j)
            known = set(read(before, i, j)) if max(i, j) < before.partitioning.partitions else set()
            old = sum(count for edge, count in whole.items() if edge in known)
            epochs = [read(replayed, i, j, epoch) for epoch in (0, 1, 0)]
            for found in epochs:
                assert found <= whole
                assert all(found[edge] == whole[edge] for edge in whole if edge not in known)
                assert sum(count for edge, count in found.items() if edge in known) == round(share * old)
            assert epochs[0] == epochs[2]
            seen[epochs[0] == epochs[1]] += 1
    assert (seen[False] > 0) == (0 < share < 1)


def test_weights_come_with_their_edges(tmp_path):
    rng, columns = np.random.default_rng(1), "src,rel,dst,weight"
    for name, nodes, count in (("e.npy", 50, 900), ("new.npy", 70, 100)):
        rows = np.unique(rng.integers(0, (nodes, 3, nodes), (count, 3)), axis=0)
        np.save(tmp_path / name, np.column_stack([rows, rng.random(len(rows)).astype(np.float32)]))
    marius_lite.make_dataset(tmp_path / "e.npy", tmp_path / "d", partitions=2, columns=columns)
    marius_lite.update_dataset(tmp_path / "d", tmp_path / "new.npy", columns=columns)
    before, now = (marius_lite.open_dataset(f"{tmp_path / 'd'}@{n}").edges("train") for n in (1, 2))
    replayed = ReplayedEdges(now, before, 0.3, seed=3)
    for i, j in ((0, 0), (1, 0), (1, 1)):
        stored = zip(*(column.tolist() for column in next(now.stream_columns(i, j, now.total, now.columns))))
        columns = [np.empty(int(replayed.counts[i, j]), np.uint32) for _ in range(3)]
        weights = np.empty(len(columns[0]), np.float32)
        assert replayed.read_into([(i, j)], *columns, 2, weights) == len(weights) > 0
        assert {*zip(*(column.tolist() for column in (*columns, weights)))} < {*stored}
        assert Counter(zip(*(column.tolist() for column in columns))) == read(replayed, i, j, 2)


def test_a_window_is_read_for_its_epoch(versions):
    before, now = versions
    replayed = ReplayedEdges(now, before, 0.5, seed=3)
    step = Step(0, (0, 1), (0, 1), (), ((0, 0), (0, 1)))
    (window,) = windows_of(step, replayed.counts, 10_000, Cut(100))
    reader = WindowReader(replayed, 10_000, 0, ahead=True)
    reader.prefetch(4, window)
    later = reader.take(5, window).src.copy()
    expected = [np.empty(window.edges, np.uint32) for _ in range(3)]
    replayed.read_into(window.buckets, *expected, 5)
    assert (later == expected[0]).all()
    reader.close()
