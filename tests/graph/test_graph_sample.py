"""Of a large graph some nodes and some of their neighbours say what the whole graph does."""

import logging
import re

import numpy as np
import pytest

from marius_lite.graph import graph_sample as module
from marius_lite.graph import hops, whole_lists
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.graph_sample import graph_sample
from marius_lite.graph.hops import tried
from marius_lite.graph.weight_unit import unit_of
from marius_lite.graph.whole_lists import WIDTHS, whole_width

NODES = 900
ENDS = ["in", "out", "both"]


@pytest.fixture
def made(cli, tmp_path):
    """A directed graph of three relations with weights, whose links lead to nodes of the same class."""

    def write(edges=5 * NODES, width=6):
        rng = np.random.default_rng(0)
        y = rng.permutation(NODES) % 3
        source = np.minimum(rng.zipf(1.7, edges) - 1, NODES - 1)
        near = rng.integers(NODES // 3, size=edges)
        target = np.where(rng.random(edges) < 0.8, np.argsort(y, kind="stable")[y[source] * (NODES // 3) + near], 3 * near)
        rows = np.column_stack([source, rng.integers(3, size=edges), target, rng.uniform(0.5, 2, edges)])
        np.save(tmp_path / "edges.npy", rows)
        x = 0.6 * np.eye(3, width)[y] + rng.normal(size=(NODES, width))
        np.save(tmp_path / "x.npy", x.astype(np.float32))
        np.save(tmp_path / "y.npy", y)
        given = ["--columns=src,rel,dst,weight", f"--features={tmp_path / 'x.npy'}", f"--labels={tmp_path / 'y.npy'}"]
        options = ["--node-split=0.3,0.4,0.3", "--adjacency=in", "--partitions=3", "--output", tmp_path / "d"]
        assert cli("preprocess", tmp_path / "edges.npy", *given, *options) == 0
        return Dataset.open(tmp_path / "d")

    return write


@pytest.fixture
def large(monkeypatch):
    """Every graph is too large to be looked at as a whole."""
    monkeypatch.setattr(whole_lists, "MOST_NODES", 0)


def shares(seen):
    return [
        seen.own, seen.apart, *seen.mixed[:2], seen.related, seen.unweighted, seen.bent_apart, seen.bent_mixed,
        seen.counted.counted, seen.counted.counted_mixed,
    ]  # fmt: skip


@pytest.mark.parametrize("ends", [["in"], ["out"], ["both"], ENDS])
def test_with_all_neighbours_the_sample_says_what_the_graph_does(made, monkeypatch, ends):
    """Each node is asked for, so that its neighbours' neighbours are the graph; and none has more edges than are drawn."""
    dataset = made()
    monkeypatch.setattr(hops, "HOPS", 2)
    whole = tried(dataset, ends, unit_of)
    monkeypatch.setattr(whole_lists, "MOST_NODES", 0)
    monkeypatch.setattr(module, "FANOUTS", {1: (NODES, NODES), 2: (NODES, NODES)})
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 40)
    drawn = tried(dataset, ends, unit_of)
    assert drawn.directions == whole.directions
    assert np.allclose(shares(drawn), shares(whole), atol=0.015)


def test_of_each_node_so_many_edges_are_drawn_that_are_there(made, large, monkeypatch):
    dataset = made()
    monkeypatch.setattr(module, "FANOUTS", {2: (4, 2)})
    sample = graph_sample(dataset, ENDS, unit_of, memory=0)
    whole = whole_lists.whole_lists(dataset)
    assert len(sample.usual) < len(sample.nodes)
    for end in ("in", "out"):
        lists, stored = sample.alike(end), whole.facing(end)
        drawn, all_of = np.diff(lists.indptr), np.diff(stored.indptr)[sample.nodes]
        seeds = np.minimum(all_of[sample.usual], 4)
        assert (drawn[sample.usual] <= seeds).all()
        # Of many edges that lead to a node some are drawn twice.
        assert (drawn[sample.usual] >= (seeds if end == "out" else np.where(all_of[sample.usual] > 4, 1, seeds))).all()
        for place in np.flatnonzero(drawn).tolist():
            node, edges = sample.nodes[place], slice(*lists.indptr[place : place + 2])
            there = slice(*stored.indptr[node : node + 2])
            pairs = set(zip(stored.sources[there].tolist(), stored.rel[there].tolist()))
            assert pairs >= set(zip(sample.nodes[lists.sources[edges]].tolist(), lists.rel[edges].tolist()))
            assert lists.factors[edges].sum() == pytest.approx(there.stop - there.start)
            assert lists.counts()[place] == pytest.approx(there.stop - there.start)


def test_a_sample_has_as_many_nodes_as_memory_was_said_to_take(made, large, monkeypatch):
    dataset = made()
    monkeypatch.setattr(module, "MOST_BYTES", 41 * 2 * 30 * 6 * 4)
    sample = graph_sample(dataset, ENDS, unit_of, memory=0)
    assert len(sample.test.train) <= 30
    assert len(sample.test.valid) <= 30
    assert len(sample.rows(None, {})) == len(sample.nodes) <= 41 * 60


def test_the_draw_is_the_same_each_time_and_whatever_is_looked_through_at_once(made, large, monkeypatch):
    dataset = made()
    once = graph_sample(dataset, ["in"], unit_of, memory=0)
    monkeypatch.setattr(module, "BLOCK", 1)
    again = graph_sample(dataset, ["in"], unit_of, memory=0)
    assert (once.nodes == again.nodes).all()
    assert (once.facing("in").sources == again.facing("in").sources).all()
    assert (once.rows(None, {}) == again.rows(None, {})).all()


def test_wide_features_of_drawn_nodes_become_principal_components(made, large, monkeypatch):
    dataset = made(width=40)
    monkeypatch.setattr(module, "DRAWN_WIDTH", 8)
    sample = graph_sample(dataset, ["in"], unit_of, memory=0)
    assert sample.rows(None, {}).shape == (len(sample.nodes), 8)
    assert tried(dataset, ["in"]).own > 0.4


def test_what_takes_a_while_is_said(made, large, caplog):
    dataset = made()
    caplog.set_level(logging.INFO, "marius_lite")
    graph_sample(dataset, ["in"], unit_of, memory=0)
    assert re.search(r"linear models are tried on 6\d\d nodes and some of their neighbours, to choose settings", caplog.text)
    caplog.clear()
    graph_sample(dataset, ["in"], unit_of, memory=1 << 40)
    assert "linear models are tried on the whole graph" in caplog.text


def test_nothing_is_drawn_from_graphs_that_take_too_long_to_look_through(made, large, monkeypatch):
    dataset = made()
    monkeypatch.setattr(module, "MOST_READ", 5 * NODES - 1)
    assert graph_sample(dataset, ["in"], unit_of, memory=0) is None


def test_a_graph_is_looked_at_as_a_whole_as_far_as_a_quarter_of_the_memory_goes(made, large):
    dataset = made()
    for width in WIDTHS:
        needed = 4 * (60 * 5 * NODES + 24 * width * NODES)
        assert whole_width(dataset, needed) == width
        assert whole_width(dataset, needed - 1) < width
    assert whole_width(dataset, 0) == 0
    sample = graph_sample(dataset, ["in"], unit_of, memory=4 * (60 * 5 * NODES + 24 * 64 * NODES))
    assert sample.whole == 64


def test_a_small_graph_is_looked_at_as_a_whole_whatever_the_memory(made):
    assert whole_width(made(), 0) == WIDTHS[0]
