"""In-edge lists come and go with their partitions, and what is sampled from a dataset are its edges."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest
from sampling_tools import naive_sample
from weighted_dataset import edges_of as all_edges
from weighted_dataset import with_weights

from marius_lite.errors import UserError
from marius_lite.ordering import make_plan
from marius_lite.preprocess import make_dataset
from marius_lite.sampling.neighbours import NeighbourLists


@pytest.fixture(scope="module", params=[1, 3])
def dataset(request, tmp_path_factory):
    """200 nodes in 5 partitions, 4,000 edges, with relations or without."""
    folder = tmp_path_factory.mktemp("dataset")
    rng = np.random.default_rng(request.param)
    rows = np.stack([rng.integers(0, 200, 4000), rng.integers(0, request.param, 4000), rng.integers(0, 200, 4000) ** 2 // 200], 1)
    np.save(folder / "e.npy", rows if request.param > 1 else rows[:, [0, 2]])
    return make_dataset(folder / "e.npy", folder / "d", partitions=5, adjacency="in")


@pytest.fixture
def lists(dataset):
    lists = NeighbourLists(dataset.adjacency)
    yield lists
    lists.close()


def edges_of(dataset):
    edges, p = [], dataset.partitioning
    for i in range(p.partitions):
        for j in range(p.partitions):
            src, dst, rel = (column.tolist() for column in dataset.edges("train").read(i, j))
            edges += [(s + i * p.rows, d + j * p.rows, r) for s, d, r in zip(src, dst, rel)]
    return edges


def test_step_after_step_the_edges_between_what_is_here(dataset, lists):
    edges, p = edges_of(dataset), dataset.partitioning
    counts = np.diff(dataset.adjacency.starts)
    moved = 0
    # 1 stays where it is, 3 stays in another slot, 0 and 4 come back.
    steps = [{0: 0, 1: 256, 3: 512}, {4: 0, 1: 256, 3: 768}, {0: 512, 4: 0}]
    for step, base_rows in enumerate(steps):
        lists.enter(base_rows)
        new = [k for k in base_rows if step == 0 or k not in steps[step - 1]]
        moved += int(counts[new].sum())
        assert lists.edges_moved == moved
        if step + 1 < len(steps):
            lists.prefetch(steps[step + 1])
        here = np.concatenate([list(p.range(k)) for k in sorted(base_rows)])
        seeds = np.random.default_rng(step).permutation(here)[:20]
        exclude = np.array([(s, d) for s, d, _ in edges if d in seeds[:5]][::3])
        found = lists.sample(seeds, [5, -1, 2], 11, exclude=exclude, both=True)
        expected = naive_sample(p.rows, edges, base_rows, seeds.tolist(), [5, -1, 2], 11, set(map(tuple, exclude.tolist())), True)
        assert found.nodes.tolist() == expected["nodes"]
        assert found.rows.tolist() == expected["rows"]
        assert found.indptr.tolist() == expected["indptr"]
        assert found.indices.tolist() == expected["indices"]
        assert found.rel is None if dataset.manifest.relations == 1 else found.rel.tolist() == expected["rel"]
        assert (found.neighbours, found.missing) == (expected["neighbours"], expected["missing"])
        assert 0 < found.missing < found.neighbours


def test_each_partition_is_read_once_and_ahead(dataset, lists, monkeypatch):
    read, calls, threads = dataset.adjacency.read, [], set()

    def noting(k, *how):
        calls.append(k)
        threads.add(threading.current_thread().name)
        return read(k, *how)

    monkeypatch.setattr(lists._adjacency, "read", noting)
    lists.prefetch([0, 1])
    lists.enter({0: 0, 1: 100})
    lists.prefetch([1, 2])
    lists.enter({1: 100, 2: 0})
    lists.enter({2: 0})
    assert calls == [0, 1, 2]
    assert threads == {"adjacency_0"}


def test_what_leaves_is_gone(dataset, lists):
    lists.enter({0: 0, 1: 100})
    lists.sample(np.array([0]), [3], 0)
    lists.enter({1: 100})
    with pytest.raises(ValueError, match="seed 0: the lists of partition 0 are not here"):
        lists.sample(np.array([0]), [3], 0)


def test_a_changed_dataset_is_named(dataset, lists):
    path = dataset.path / "adjacency/in/sources/c/0"
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    try:
        lists.prefetch([0])
        with pytest.raises(UserError, match=r"adjacency/in/sources: the lists of partition 0 do not match"):
            lists.enter({0: 0})
        path.write_bytes(data)
        lists.enter({1: 0})
        path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
        with pytest.raises(UserError, match="partition 0"):
            lists.enter({1: 50, 0: 0})  # 1 moves at the same time
        path.write_bytes(data)
        lists.enter({0: 0, 1: 50})
        part = dataset.partitioning.range(1)
        assert lists.sample(np.array([part.start]), [], 0).rows.tolist() == [50]
    finally:
        path.write_bytes(data)


@pytest.fixture
def weighted(dataset, tmp_path):
    rng = np.random.default_rng(2)
    return with_weights(dataset.path, tmp_path / "weighted", lambda src, dst, rel: rng.choice([0, 1, 2.5, 40], len(src)))


def test_edges_are_drawn_by_their_weights(weighted):
    relations, p = weighted.manifest.relations, weighted.partitioning
    edges = list(zip(*(column.tolist() for column in all_edges(weighted.edges("train")))))
    fanouts = [3, 2] if relations == 1 else [3, np.arange(1, 1 + relations)]
    with closing(NeighbourLists(weighted.adjacency, weighted=True)) as lists:
        for base_rows in ({0: 0, 3: 100}, {3: 300, 1: 0}):
            lists.enter(base_rows)
            seeds = np.arange(p.range(3).start, p.range(3).stop)
            found = lists.sample(seeds, fanouts, 4)
            expected = naive_sample(p.rows, edges, base_rows, seeds.tolist(), fanouts, 4)
            assert [found.nodes.tolist(), found.rows.tolist(), found.indices.tolist()] == [
                expected["nodes"],
                expected["rows"],
                expected["indices"],
            ]


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_that_cannot_be_drawn_by_are_named(dataset, tmp_path, weight):
    bad = with_weights(dataset.path, tmp_path / "bad", lambda src, dst, rel: np.where(dst == 7, weight, 1))
    with closing(NeighbourLists(bad.adjacency)) as lists:
        lists.enter({0: 0})  # whoever does not draw by them does not mind
    with (
        closing(NeighbourLists(bad.adjacency, weighted=True)) as lists,
        pytest.raises(UserError, match=r"the edges into partition 0 have weights from .* takes finite weights of 0"),
    ):
        lists.enter({0: 0})


def test_a_whole_epoch_moves_the_edges_that_it_loads(dataset):
    counts = np.diff(dataset.adjacency.starts)
    plan = make_plan("beta", 5, 2, 0, 0)
    assert plan.swaps > 3
    with closing(NeighbourLists(dataset.adjacency, degrees=True)) as lists:
        slots, loaded = {}, 0
        for step, after in zip(plan.steps, [*plan.steps[1:], None]):
            slots = {k: slots.get(k, 1000 * k) for k in step.resident}
            before = lists.edges_moved
            lists.enter(slots)
            lists.prefetch(after.resident if after else ())
            assert lists.edges_moved - before == counts[list(step.load)].sum()
            loaded += counts[list(step.load)].sum()
        assert lists.edges_moved == loaded > counts.sum()
        elsewhere = {k: 7000 - row for k, row in slots.items()}  # as after an evaluation that used the buffer
        k = min(slots)
        degrees = lists.degrees(np.arange(slots[k], slots[k] + dataset.partitioning.size(k)))
        lists.enter(elsewhere)
        assert lists.edges_moved == loaded
        assert lists.degrees(np.arange(elsewhere[k], elsewhere[k] + dataset.partitioning.size(k))).tolist() == degrees.tolist()
        first = dataset.partitioning.range(k).start
        assert lists.sample(np.array([first]), [], 0).rows.tolist() == [elsewhere[k]]


def test_partitions_change_places(dataset):
    """Each takes the rows of the other; degrees go along."""
    with closing(NeighbourLists(dataset.adjacency, degrees=True)) as lists:
        lists.enter({0: 0, 1: 40})
        before = [lists.degrees(np.arange(row, row + 40)).tolist() for row in (0, 40)]
        lists.enter({0: 40, 1: 0})
        assert [lists.degrees(np.arange(row, row + 40)).tolist() for row in (40, 0)] == before


def test_some_sources_are_those_of_edges_that_are_here(dataset, lists):
    rows = dataset.partitioning.rows
    lists.enter({1: 0, 3: 256})
    edges = edges_of(dataset)
    here = sorted(s for s, d, _ in edges if d // rows in (1, 3) and s // rows in (1, 3))
    assert sorted(lists.some_sources(10**6).tolist()) == here
    some = lists.some_sources(100)
    assert 20 < len(some) < 200
    assert set(some.tolist()) <= set(here)
    lists.enter({})
    assert len(lists.some_sources(100)) == 0


def test_several_threads_sample_at_the_same_time(dataset, lists):
    lists.enter({k: k * 256 for k in range(5)})
    seeds = [np.random.default_rng(k).permutation(200)[:50] for k in range(40)]
    expected = [lists.sample(each, [4, 3], k) for k, each in enumerate(seeds)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            found = list(pool.map(lambda k: lists.sample(seeds[k], [4, 3], k), range(40)))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.nodes, other.nodes)
                np.testing.assert_array_equal(one.indices, other.indices)
            lists.enter({k: (4 - k) * 256 for k in range(5)})  # no sampler may look at the lists as they were
            expected = [lists.sample(each, [4, 3], k) for k, each in enumerate(seeds)]
