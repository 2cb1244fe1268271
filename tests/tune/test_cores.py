"""Datasets of cores: the edges between the nodes of the k-cores of the training graph."""

import numpy as np
import pytest

from marius_lite.graph.dataset import Dataset
from marius_lite.preprocess.make import make_dataset
from marius_lite.tune.cores import reduced


def graph(tmp, seed, nodes=60, edges=300, partitions=3):
    """A graph with a dense part."""
    rng = np.random.default_rng(seed)
    ends = (nodes * rng.random((edges, 2)) ** 2).astype(int)
    rows = np.stack([ends[:, 0], rng.integers(0, 3, edges), ends[:, 1]], 1)
    np.save(tmp / "train.npy", rows)
    np.save(tmp / "valid.npy", rows[rng.permutation(edges)[: edges // 3]])
    return make_dataset(tmp / "train.npy", tmp / "data", valid=tmp / "valid.npy", partitions=partitions)


def edges_of(dataset, split):
    """Each edge by raw ids, and as node ids."""
    edges, raw = dataset.edges(split), dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
    names, p, size = dataset.relation_names(), dataset.manifest.partitions, dataset.partitioning.rows
    ids = [
        (i * size + int(s), int(r), j * size + int(d)) for i in range(p) for j in range(p) for s, d, r in zip(*edges.read(i, j))
    ]
    return sorted((raw[s], names[r], raw[d]) for s, r, d in ids), ids


def test_datasets_of_cores_hold_the_edges_between_their_nodes(tmp_path):
    dataset = graph(tmp_path, 0)
    cores = reduced(dataset, [0.25, 0.5, 1.0], tmp_path)
    assert [*cores] == [0.5, 0.25]
    total, before = dataset.manifest.edges["train"], None
    for share, core in cores.items():
        assert core.manifest.edges["train"] >= share * total
        inside = set(core.raw_ids(0, core.manifest.nodes).to_pylist())
        assert before is None or inside <= before
        before = inside
        for split in ("train", "valid"):
            made, _ = edges_of(core, split)
            size, raw = dataset.partitioning.rows, dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
            assert size
            kept = [
                (s, r, d)
                for s, r, d in ((s, r, d) for s, r, d in edges_of(dataset, split)[0])
                if raw.index(s) in inside and raw.index(d) in inside
            ]
            assert len(made) == len(kept)
    assert cores[0.25].manifest.edges["train"] < total
    again = reduced(dataset, [0.25, 0.5, 1.0], tmp_path)
    assert [one.fingerprint for one in again.values()] == [one.fingerprint for one in cores.values()]


@pytest.mark.parametrize("least", [10_000])
def test_too_few_validation_edges_leave_the_whole_graph(tmp_path, monkeypatch, least):
    monkeypatch.setattr("marius_lite.tune.cores.LEAST_VALID", least)
    dataset = graph(tmp_path, 0)
    for _ in range(2):
        assert reduced(dataset, [0.5], tmp_path) == {}
    assert isinstance(dataset, Dataset)


def test_edges_keep_their_weights(tmp_path):
    rng = np.random.default_rng(0)
    ends = (60 * rng.random((300, 2)) ** 2).astype(int)
    rows = np.unique(np.stack([ends[:, 0], rng.integers(0, 3, 300), ends[:, 1]], 1), axis=0)
    table = np.column_stack([rows, (rows * [1, 0.01, 100]).sum(1)])
    np.save(tmp_path / "train.npy", table)
    np.save(tmp_path / "valid.npy", table[::3])
    columns = "src,rel,dst,weight"
    dataset = make_dataset(tmp_path / "train.npy", tmp_path / "data", valid=tmp_path / "valid.npy", partitions=3, columns=columns)
    core = reduced(dataset, [0.5], tmp_path)[0.5]
    for split in ("train", "valid"):
        edges, (raw, _) = core.edges(split), edges_of(core, split)
        weights = [
            weight
            for i in range(core.manifest.partitions)
            for j in range(core.manifest.partitions)
            for columns in edges.stream_columns(i, j, edges.total, ["weight"])
            for weight in columns[0].tolist()
        ]
        nodes, relations = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist(), dataset.relation_names()
        expected = [int(nodes[int(s)]) + 0.01 * int(relations[int(r)]) + 100 * int(nodes[int(d)]) for s, r, d in raw]
        np.testing.assert_allclose(sorted(weights), sorted(expected), rtol=1e-6)
