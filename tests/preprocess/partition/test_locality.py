"""--partitioner locality: the same graph under other ids, in full partitions, with fewer edges between them."""

import os

import numpy as np
import pytest
from planted_graphs import (
    NODES,
    graph_of_self_loops_and_one_edge,
    graph_without_edges,
    hub,
    multigraph,
    nodes_of,
    path,
    planted_graph,
    report,
    star,
)
from preprocess_tools import data_files, decoded, make, shared

from marius_lite.errors import UserError
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk import sort
from marius_lite.preprocess.partition import arcs, places


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """40 communities of 100 nodes, nine of ten edges inside one."""
    return planted_graph(tmp_path_factory.mktemp("planted"), np.random.default_rng(0))


@pytest.mark.parametrize("partitions", [2, 7, 16])
def test_same_graph_in_full_partitions_with_a_third_of_the_cut(tmp_path, planted, partitions):
    random = make(tmp_path / "random", planted, partitions=partitions)
    near = make(tmp_path / "near", planted, partitions=partitions, partitioner="locality")
    near.verify()
    assert decoded(near) == decoded(random)
    assert sorted(nodes_of(near)) == sorted(nodes_of(random))
    assert near.manifest.rows_per_partition == random.manifest.rows_per_partition == -(-NODES // partitions)
    told = {name: report(tmp_path / name) for name in ("random", "near")}
    assert {name: one["partitioner"] for name, one in told.items()} == {"random": "random", "near": "locality"}
    assert told["near"]["edge_cut"] * 3 < told["random"]["edge_cut"]
    assert told["random"]["edge_cut"] == pytest.approx(1 - 1 / partitions, abs=0.03)
    assert told["near"]["balance"]["nodes"] == told["random"]["balance"]["nodes"] < 1.01


def test_report_counts_the_cut(tmp_path, planted):
    dataset = make(tmp_path / "d", planted, partitions=5, partitioner="locality")
    place = {raw: i // dataset.partitioning.rows for i, raw in enumerate(nodes_of(dataset))}
    src, dst = np.vectorize(place.get)(np.load(planted)).T
    assert report(tmp_path / "d")["edge_cut"] == pytest.approx(np.mean(src != dst), abs=1e-6)
    into = np.bincount(dst, minlength=5)
    assert report(tmp_path / "d")["balance"]["edges"] == pytest.approx(into.max() / into.mean(), abs=1e-6)


def test_same_bytes_for_any_memory_threads_and_file_order(tmp_path, planted, monkeypatch):
    edges = np.load(planted)
    files = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for file, part in zip(files, (edges[:9_000], edges[9_000:])):
        np.save(file, part)
    options = {"partitions": 4, "split": "0.8,0.1,0.1", "partitioner": "locality"}
    make(tmp_path / "much", files, **options)
    monkeypatch.setattr(sort, "LEAST_RECORDS", 64)
    monkeypatch.setattr(plan, "sort_memory", lambda _: 40_000)
    monkeypatch.setattr(arcs, "MOST_BLOCK_BYTES", 500)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(5))
    make(tmp_path / "little", files[::-1], memory="1MiB", **options)
    assert report(tmp_path / "little")["sorted_runs"] > 5
    assert data_files(tmp_path / "much") == data_files(tmp_path / "little")


def test_splits_are_those_of_random(tmp_path, planted):
    for undirected in (False, True):
        options = {"partitions": 4, "split": "0.7,0.2,0.1", "undirected": undirected}
        random = make(tmp_path / f"random{undirected}", planted, **options)
        near = make(tmp_path / f"near{undirected}", planted, partitioner="locality", **options)
        for split in ("train", "valid", "test"):
            assert decoded(near, split) == decoded(random, split)


def test_training_nodes_stay_first(tmp_path, planted):
    rng = np.random.default_rng(2)
    labels = rng.integers(3, size=NODES)
    np.save(tmp_path / "labels.npy", labels)
    options = {"partitions": 8, "labels": tmp_path / "labels.npy", "node_split": "0.3,0.3,0.4"}
    random = make(tmp_path / "random", planted, **options)
    near = make(tmp_path / "near", planted, partitioner="locality", **options)
    near.verify()
    count = near.manifest.node_split["train"]
    assert near.manifest.node_split == random.manifest.node_split
    assert set(near.node_split("train").tolist()) == set(range(count))
    assert set(nodes_of(near)[:count]) == set(nodes_of(random)[:count])
    found = np.concatenate([near.labels.read(k) for k in range(8)])
    assert (found == labels[nodes_of(near)]).all()
    assert report(tmp_path / "near")["edge_cut"] < 0.8 * report(tmp_path / "random")["edge_cut"]


@pytest.mark.parametrize("partitioner", ["random", "locality"])
def test_training_nodes_may_stay_among_the_others(tmp_path, planted, partitioner):
    labels = np.random.default_rng(2).integers(3, size=NODES)
    np.save(tmp_path / "labels.npy", labels)
    options = {"partitions": 8, "labels": tmp_path / "labels.npy", "partitioner": partitioner}
    whole = make(tmp_path / "whole", planted, **options)
    among = make(tmp_path / "among", planted, **options, node_split="0.3,0.3,0.4", training_partitions="all")
    first = make(tmp_path / "first", planted, **options, node_split="0.3,0.3,0.4")
    among.verify()
    assert nodes_of(among) == nodes_of(whole)  # as if there were no split
    assert among.manifest.training_partitions == 8
    raw = [set(np.asarray(nodes_of(each))[each.node_split("train")].tolist()) for each in (among, first)]
    assert raw[0] == raw[1]
    assert len(set((among.node_split("train") // among.partitioning.rows).tolist())) == 8
    assert (np.concatenate([among.labels.read(k) for k in range(8)]) == labels[nodes_of(among)]).all()


@pytest.mark.parametrize("graph", [graph_without_edges, graph_of_self_loops_and_one_edge, multigraph, hub, star, path])
@pytest.mark.parametrize("undirected", [False, True])
def test_odd_graphs(tmp_path, graph, undirected):
    np.save(tmp_path / "e.npy", graph(np.random.default_rng(3)))
    options = {"partitions": 4, "undirected": undirected}
    random = make(tmp_path / "random", tmp_path / "e.npy", **options)
    near = make(tmp_path / "near", tmp_path / "e.npy", partitioner="locality", **options)
    near.verify()
    assert decoded(near) == decoded(random)
    assert report(tmp_path / "near")["edge_cut"] <= report(tmp_path / "random")["edge_cut"]


def test_nodes_without_edges_fill_the_gaps(tmp_path, planted):
    np.save(tmp_path / "labels.npy", np.zeros(NODES + 500, int))
    near = make(tmp_path / "d", planted, partitions=8, labels=tmp_path / "labels.npy", partitioner="locality")
    assert sorted(nodes_of(near)) == list(range(NODES + 500))
    assert report(tmp_path / "d")["edge_cut"] < 0.3


def test_random_leaves_no_trace_in_the_manifest(tmp_path, planted):
    default = make(tmp_path / "default", planted, partitions=4)
    named = make(tmp_path / "named", planted, partitions=4, partitioner="random")
    assert "partitioner" not in default.manifest.options
    assert data_files(tmp_path / "default") == data_files(tmp_path / "named")
    assert named.fingerprint == default.fingerprint
    near = make(tmp_path / "near", planted, partitions=4, partitioner="locality")
    assert near.manifest.options["partitioner"] == "locality"


def test_one_partition_needs_no_partitioner(tmp_path, planted):
    random, near = (make(tmp_path / name, planted, partitions=1, partitioner=name) for name in ("random", "locality"))
    assert nodes_of(near) == nodes_of(random)
    assert report(tmp_path / "locality")["edge_cut"] == 0


def test_unknown_partitioner_and_too_many_nodes_are_refused(tmp_path, planted, monkeypatch):
    with pytest.raises(UserError, match="--partitioner spectral: unknown: use one of random, locality, metis"):
        make(tmp_path / "d", planted, partitioner="spectral")
    monkeypatch.setattr(places, "MOST_NODES", 1_000)
    with pytest.raises(UserError, match="--partitioner locality: 4,000 nodes, it takes at most 1,000: use random"):
        make(tmp_path / "d", planted, partitions=4, partitioner="locality")
    assert not (tmp_path / "d").exists()


def test_a_web_graph_is_cut_by_a_tenth_of_random(tmp_path):
    edges = shared("web-notredame/web-NotreDame.txt.gz")
    for partitioner, most in (("random", 0.9), ("locality", 0.05)):
        make(tmp_path / partitioner, edges, partitions=8, partitioner=partitioner)
        told = report(tmp_path / partitioner)
        print(f"web-NotreDame, 8 partitions, {partitioner}: cut {told['edge_cut']:.4f}, {told['seconds']['total']:.1f} s")
        assert told["edge_cut"] < most
