"""--partitioner metis: the same graph under other ids, in full partitions, cut no worse than by locality; or refused."""

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
from preprocess_tools import data_files, decoded, make

from marius_lite.errors import UserError

pytest.importorskip("pymetis", reason="METIS needs the extra `metis`")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return planted_graph(tmp_path_factory.mktemp("planted"), np.random.default_rng(0))


@pytest.mark.parametrize("partitions", [2, 7, 16])
def test_same_graph_in_full_partitions_cut_no_worse_than_by_locality(tmp_path, planted, partitions):
    made = {
        name: make(tmp_path / name, planted, partitions=partitions, partitioner=name) for name in ("random", "locality", "metis")
    }
    made["metis"].verify()
    assert decoded(made["metis"]) == decoded(made["random"])
    assert sorted(nodes_of(made["metis"])) == sorted(nodes_of(made["random"]))
    assert made["metis"].manifest.options["partitioner"] == "metis"
    told = {name: report(tmp_path / name) for name in made}
    assert told["metis"]["partitioner"] == "metis"
    assert told["metis"]["edge_cut"] <= 1.05 * told["locality"]["edge_cut"]
    assert told["metis"]["balance"]["nodes"] == told["random"]["balance"]["nodes"]


def test_same_bytes_for_any_memory_threads_and_file_order_others_for_another_seed(tmp_path, planted, monkeypatch):
    edges = np.load(planted)
    files = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for file, part in zip(files, (edges[:9_000], edges[9_000:])):
        np.save(file, part)
    options = {"partitions": 4, "split": "0.8,0.1,0.1", "partitioner": "metis"}
    make(tmp_path / "much", files, **options)
    make(tmp_path / "other", files, seed=1, **options)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(5))
    make(tmp_path / "little", files[::-1], memory="20MB", **options)
    assert data_files(tmp_path / "much") == data_files(tmp_path / "little") != data_files(tmp_path / "other")


def test_training_nodes_stay_first_and_are_near_each_other(tmp_path, planted):
    np.save(tmp_path / "labels.npy", np.zeros(NODES, int))
    options = {"partitions": 8, "labels": tmp_path / "labels.npy", "node_split": "0.3,0.3,0.4"}
    random, near = (make(tmp_path / name, planted, partitioner=name, **options) for name in ("random", "metis"))
    count = near.manifest.node_split["train"]
    assert count % near.partitioning.rows  # one partition holds both kinds
    assert set(near.node_split("train").tolist()) == set(range(count))
    assert set(nodes_of(near)[:count]) == set(nodes_of(random)[:count])
    first = range(count // near.partitioning.rows)
    counts = {name: one.edges("train").counts[np.ix_(first, first)] for name, one in (("random", random), ("near", near))}
    inside = {name: np.trace(found) / found.sum() for name, found in counts.items()}
    assert inside["near"] > 1.5 * inside["random"]


@pytest.mark.parametrize("graph", [graph_without_edges, graph_of_self_loops_and_one_edge, multigraph, hub, star, path])
def test_odd_graphs(tmp_path, graph):
    np.save(tmp_path / "e.npy", graph(np.random.default_rng(3)))
    random, near = (make(tmp_path / name, tmp_path / "e.npy", partitions=4, partitioner=name) for name in ("random", "metis"))
    near.verify()
    assert decoded(near) == decoded(random)
    assert report(tmp_path / "metis")["edge_cut"] <= report(tmp_path / "random")["edge_cut"]


def test_a_graph_beyond_the_memory_is_refused_with_the_bytes_it_needs(tmp_path, planted):
    with pytest.raises(UserError, match=r"4,000 nodes and \d\d,\d+ arcs need about 7\.\d+ MB, --memory leaves 2.00 MB"):
        make(tmp_path / "d", planted, partitions=4, partitioner="metis", memory="4MB")
    assert not list(tmp_path.iterdir())


def test_without_pymetis_it_is_refused_before_anything_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("marius_lite.preprocess.arguments.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs pymetis, which is not installed: pip install 'marius-lite\[metis\]'"):
        make(tmp_path / "d", tmp_path / "nowhere.npy", partitioner="metis")
