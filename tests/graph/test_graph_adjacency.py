"""The in-edges of a dataset: the training edges, by destination, checked at every read."""

import json
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from weighted_dataset import edges_of as all_edges
from weighted_dataset import with_weights

from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.adjacency import source_dtype, sums_by_list
from marius_lite.preprocess import make_dataset
from marius_lite.preprocess.edges.adjacency import AdjacencyWriter

node = st.integers(0, 30) | st.integers(0, 2)


def edges_of(dataset):
    """The multiset of training edges (src, rel, dst) in node ids."""
    buckets, p = dataset.edges("train"), dataset.partitioning
    found = Counter()
    for i in range(p.partitions):
        for j in range(p.partitions):
            src, dst, rel = (column.astype(int) for column in buckets.read(i, j))
            found.update(zip((src + i * p.rows).tolist(), rel.tolist(), (dst + j * p.rows).tolist()))
    return found


def lists_of(dataset):
    """The same from the in-edge lists."""
    p, found = dataset.partitioning, Counter()
    for k in range(p.partitions):
        lists = dataset.adjacency.read(k)
        assert lists.indptr.shape == (p.size(k) + 1,)
        assert (lists.rel is None) == (dataset.manifest.relations == 1)
        rel = np.zeros(len(lists.sources), int) if lists.rel is None else lists.rel
        for dst, low, high in zip(p.range(k), lists.indptr.tolist(), lists.indptr[1:].tolist()):
            assert (np.diff(lists.sources[low:high].astype(int)) >= 0).all()
            found.update((src, r, dst) for src, r in zip(lists.sources[low:high].tolist(), rel[low:high].tolist()))
    return found


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(node, st.integers(0, 2), node), min_size=1, max_size=80),
    st.integers(1, 7),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_lists_are_the_training_edges(edges, partitions, with_relations, undirected, split):
    rows = np.array(edges) if with_relations else np.array(edges)[:, [0, 2]]
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "e.npy", rows)
        options = {"split": "0.6,0.2,0.2"} if split else {}
        dataset = make_dataset(
            Path(folder) / "e.npy", Path(folder) / "d", partitions=partitions, undirected=undirected, adjacency="in", **options
        )
        assert lists_of(dataset) == edges_of(dataset)
        dataset.verify()


@pytest.fixture
def with_lists(edge_file, tmp_path):
    return make_dataset(edge_file, tmp_path / "d", partitions=3, split="0.8,0.1,0.1", adjacency="in")


def test_the_manifest_says_so_and_the_rest_stays_as_it_was(with_lists, edge_file, tmp_path):
    root = json.loads((with_lists.path / "zarr.json").read_text())["attributes"]["marius_lite"]
    assert root["adjacency"] == ["in"]
    without = make_dataset(edge_file, tmp_path / "without", partitions=3, split="0.8,0.1,0.1")
    assert without.adjacency is None
    assert "adjacency" not in json.loads((without.path / "zarr.json").read_text())["attributes"]["marius_lite"]
    added = set(with_lists.manifest.files) - set(without.manifest.files)
    assert added
    assert all(name.startswith("adjacency/in/") or name == "adjacency/zarr.json" for name in added)
    assert {name: with_lists.manifest.files[name] for name in without.manifest.files} == without.manifest.files


def test_any_zarr_reader_opens_the_lists(with_lists):
    found = zarr.open(with_lists.path, mode="r")["adjacency/in"]
    p = with_lists.partitioning
    assert found["indptr"].shape == (p.nodes + p.partitions,)
    assert (found["sources"].dtype, found["rel"].dtype) == (np.uint32, np.uint32)
    assert found["starts"][-1] == found["sources"].shape[0] == with_lists.manifest.edges["train"]
    assert found["checksums"].shape == (3, 3)
    lists = with_lists.adjacency.read(1)
    assert np.array_equal(found["sources"][found["starts"][1] : found["starts"][2]], lists.sources)
    assert np.array_equal(found["indptr"][p.rows + 1 : 2 * (p.rows + 1)], lists.indptr)


@pytest.mark.parametrize("array", ["indptr", "sources", "rel"])
def test_every_changed_byte_is_noticed(with_lists, array):
    path = with_lists.path / "adjacency/in" / array / "c/0"
    data = path.read_bytes()
    p, itemsize = with_lists.partitioning, 8 if array == "indptr" else 4
    first = 2 * (p.rows + 1) if array == "indptr" else int(with_lists.adjacency.starts[2])
    end = p.nodes + 3 if array == "indptr" else int(with_lists.adjacency.starts[3])
    for place in (first * itemsize, (first + end) // 2 * itemsize, end * itemsize - 1):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with_lists.adjacency.read(1)
        with pytest.raises(UserError, match=f"adjacency/in/{array}: the lists of partition 2 do not match their checksum"):
            with_lists.adjacency.read(2)
        with pytest.raises(UserError, match="checksum"):
            with_lists.verify()
    path.write_bytes(data[:-1])
    with pytest.raises(UserError, match=rf"adjacency/in/{array}/c/0: \d+ bytes"):
        Dataset.open(with_lists.path)


def test_partitions_that_do_not_exist(with_lists):
    for k in (-1, 3):
        with pytest.raises(ValueError, match=f"partition {k}: there are 3"):
            with_lists.adjacency.read(k)


def test_ids_widen_only_beyond_32_bits():
    assert (source_dtype(1 << 32), source_dtype((1 << 32) + 1)) == (np.uint32, np.uint64)


@pytest.fixture
def weighted(with_lists, tmp_path):
    rng = np.random.default_rng(0)
    return with_weights(with_lists.path, tmp_path / "weighted", lambda src, dst, rel: rng.random(len(src)))


def test_weights_go_along_with_their_edges(weighted, with_lists):
    expected = Counter(zip(*(column.tolist() for column in all_edges(weighted.edges("train")))))
    p, found = weighted.partitioning, Counter()
    for k in range(p.partitions):
        lists, plain = weighted.adjacency.read(k, weights=True), with_lists.adjacency.read(k)
        assert (lists.weights.dtype, weighted.adjacency.read(k).weights) == (np.float32, None)
        assert all(np.array_equal(getattr(lists, name), getattr(plain, name)) for name in ("indptr", "sources", "rel"))
        dst = np.repeat(np.arange(p.range(k).start, p.range(k).stop), np.diff(lists.indptr))
        found.update(zip(*(column.tolist() for column in (lists.sources, dst, lists.rel, lists.weights))))
    assert found == expected
    weighted.verify()
    assert (weighted.adjacency.edge_bytes(), weighted.adjacency.edge_bytes(weights=True)) == (8, 12)


def test_a_changed_weight_is_noticed(weighted):
    for folder, said in (("adjacency/in", "lists of partition 0"), ("edges/valid", r"bucket \(0, 0\)")):
        path = weighted.path / folder / "weight/c/0"
        data = path.read_bytes()
        path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
        if folder == "adjacency/in":
            weighted.adjacency.read(0)  # who does not ask for weights does not read them
            with pytest.raises(UserError, match=f"{folder}/weight: the {said} do not match"):
                weighted.adjacency.read(0, weights=True)
        else:
            edges = weighted.edges("valid")
            edges.read(0, 0)
            with pytest.raises(UserError, match=f"{folder}/weight: {said} does not match"):
                list(edges.stream_columns(0, 0, 10, ("weight",)))
        path.write_bytes(data)


def test_weights_count_in_the_memory_of_a_partition(weighted, tmp_path):
    degrees = np.zeros(weighted.partitioning.nodes, np.uint32)
    edges = weighted.edges("train")
    bytes_needed = edges.counts.sum(0).max() * 12 + weighted.partitioning.rows * 8
    with pytest.raises(UserError, match="give more --memory"):
        AdjacencyWriter(edges, tmp_path / "in", degrees, 4, int(bytes_needed) - 1)
    AdjacencyWriter(edges, tmp_path / "in", degrees, 4, int(bytes_needed))


@pytest.mark.parametrize("sizes", [[0, 3, 0, 0, 2, 0], [], [0], [1 << 19, 0, 1 << 18, 5], [7] * 60_000])
def test_values_are_summed_by_list(sizes):
    rng = np.random.default_rng(len(sizes))
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = rng.random(ends[-1]).astype(np.float32)
    expected = [values[low:high].sum(dtype=np.float64) for low, high in pairwise(ends.tolist())]
    np.testing.assert_allclose(sums_by_list(ends + 11, values), expected, rtol=1e-12)
