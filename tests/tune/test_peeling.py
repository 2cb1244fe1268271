"""Peeling: what is left is the k-core, by networkx's definition, in memory and by passes over the disk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.config import machine
from marius_lite.preprocess.make import make_dataset
from marius_lite.tune import peeling


def made(tmp, rows, partitions=3):
    np.save(tmp / "train.npy", rows)
    dataset = make_dataset(tmp / "train.npy", tmp / "data", partitions=partitions)
    edges, p, size = dataset.edges("train"), dataset.manifest.partitions, dataset.partitioning.rows
    ids = [(i * size + int(s), j * size + int(d)) for i in range(p) for j in range(p) for s, d, _ in zip(*edges.read(i, j))]
    return edges, dataset.manifest.nodes, ids


def core_by_definition(ids, nodes, k):
    left = set(range(nodes))
    while True:
        degree = dict.fromkeys(left, 0)
        for s, d in ids:
            if s in left and d in left:
                degree[s] += 1
                degree[d] += 1
        few = {node for node in left if degree[node] < k}
        if not few:
            return left
        left -= few


@given(seed=st.integers(0, 1000), k=st.integers(1, 20))
@settings(max_examples=8, deadline=None)
def test_what_is_left_is_the_core(seed, k, tmp_path_factory):
    rng = np.random.default_rng(seed)
    rows = (60 * rng.random((200, 2)) ** 2).astype(int)  # with a dense part, loops and duplicates
    edges, nodes, ids = made(tmp_path_factory.mktemp("core"), rows)
    expected = core_by_definition(ids, nodes, k)
    for peel in (peeling.InMemory(edges, nodes).peel, lambda left, k: peeling.peel_on_disk(edges, left, k)):
        left = np.ones(nodes, bool)
        counts = [peel(left, each) for each in (max(1, k // 2), k)]
        assert {*np.flatnonzero(left).tolist()} == expected
        assert counts[1] == sum(s in expected and d in expected for s, d in ids)


@pytest.mark.parametrize("free", [1 << 30, 1 << 10])
def test_chains_are_peeled_at_once_in_memory_and_as_far_as_passes_go_on_disk(tmp_path, monkeypatch, free):
    chain = np.stack([np.arange(100), np.arange(1, 101)], 1)
    ring = np.stack([np.arange(200, 210), np.append(np.arange(201, 210), 200)], 1)
    edges, nodes, _ = made(tmp_path, np.concatenate([chain, ring]))
    monkeypatch.setattr(machine, "available_memory", lambda: free)
    left = np.ones(nodes, bool)
    count = peeling.peel_of(edges, nodes)(left, 2)
    assert count == (10 if free > 1 << 20 else 10 + 100 - 2 * (peeling.PASSES - 1))
