"""First rows are mixed over as many hops as linear models ask for: many in long trees, few where nodes have many links."""

import logging

import numpy as np
import pytest

from marius_lite.config.inputs import FIRST_HOPS
from marius_lite.config.model_sections import MOST_FIRST_HOPS
from marius_lite.graph import first_hops as module
from marius_lite.graph.defaults import config_for
from marius_lite.graph.first_hops import best_doublings, first_hops

CLASSES = 4


def paths(count=40, length=30):
    """Paths without a link between them; each is of one class. Returns edges in one direction, and classes."""
    nodes = np.random.default_rng(0).permutation(count * length).reshape(count, length)
    classes = np.empty(nodes.size, int)
    classes[nodes] = (np.arange(count) % CLASSES)[:, None]
    return (nodes[:, :-1].ravel(), nodes[:, 1:].ravel()), classes


def groups(nodes=1200, degree=10):
    """Nodes with most of their links inside their class."""
    rng = np.random.default_rng(0)
    classes = np.arange(nodes) % CLASSES
    source = rng.integers(nodes, size=nodes * degree // 2)
    near = (source + CLASSES * rng.integers(nodes // CLASSES, size=len(source))) % nodes
    return (source, np.where(rng.random(len(source)) < 0.8, near, rng.integers(nodes, size=len(source)))), classes


def test_long_paths_ask_for_many_hops_and_dense_groups_for_the_usual_ones(classified, caplog):
    dataset = classified(*paths(), "--undirected")
    found = first_hops(dataset, FIRST_HOPS, MOST_FIRST_HOPS, "in", lambda _: None)
    assert found.hops >= 64
    assert found.share > 0.9 > found.before + 0.1
    with caplog.at_level(logging.INFO, "marius_lite"):
        assert config_for(dataset, None).init.hops == found.hops
    assert f"init.hops={found.hops}, because linear models tell {found.share:.0%} of the labelled nodes right" in caplog.text
    assert config_for(dataset, None, ["init.hops=3"]).init.hops == 3


def test_dense_groups_ask_for_the_usual_ones(classified):
    dataset = classified(*groups(), "--undirected")
    assert first_hops(dataset, FIRST_HOPS, MOST_FIRST_HOPS, "in", lambda _: None) is None
    assert config_for(dataset, None).init.hops == "auto"


def test_links_that_are_stored_one_way_are_followed_both_ways(classified):
    dataset = classified(*paths())
    assert config_for(dataset, None).init.hops >= 64
    assert config_for(dataset, None, ["model.directions=in"]).init.hops == 32, "as many as lead to the beginning of each path"


def test_links_of_low_weight_count_little(classified):
    """Noise of low weight beside the paths: by weights they are followed far, and where all edges count alike they are lost."""
    (source, target), classes = paths()
    noise = np.random.default_rng(0).integers(len(classes), size=(2, len(source)))
    ends = [np.concatenate(pair) for pair in zip((source, target), noise)]
    weights = np.repeat([1.0, 0.001], len(source))
    dataset = classified((*ends, weights), classes, "--undirected", "--columns", "src,dst,weight")
    by_weights = config_for(dataset, None).init.hops
    assert by_weights >= 32
    assert config_for(dataset, None, ["model.weight_unit=0.5"]).init.hops == by_weights
    alike = config_for(dataset, None, ["model.weight_unit=0"]).init.hops
    assert alike == "auto" or alike < by_weights


@pytest.mark.parametrize("encoder", ["sage", "gat"])
def test_other_encoders_keep_the_usual_ones(classified, encoder):
    """With sage more hops look better to linear models, and are not."""
    dataset = classified(*paths(), "--undirected")
    assert config_for(dataset, "preset:gcn", [f"model.encoder={encoder}"]).init.hops == "auto"


def test_nodes_of_several_classes_say_too_little(classified):
    edges, classes = paths()
    assert (
        first_hops(classified(edges, np.eye(CLASSES, dtype=np.int8)[classes], "--undirected"), 8, 256, "in", lambda _: None)
        is not None
    )
    several = np.eye(CLASSES, dtype=np.int8)[classes]
    several[::3, 0] = 1
    assert first_hops(classified(edges, several, "--undirected", "--overwrite"), 8, 256, "in", lambda _: None) is None


@pytest.mark.parametrize(("gathered", "most"), [(0, FIRST_HOPS), ((1160 * 2 + 1200 * 2) * module.WIDTH * 32, 32)])
def test_no_more_are_tried_than_take_seconds(classified, monkeypatch, gathered, most):
    monkeypatch.setattr(module, "MOST_GATHERED", gathered)
    found = first_hops(classified(*paths(), "--undirected"), FIRST_HOPS, MOST_FIRST_HOPS, "in", lambda _: None)
    assert (found.hops if found else FIRST_HOPS) == most


@pytest.mark.parametrize(
    ("shares", "asked", "best"),
    [
        ((0.45, 0.55, 0.68, 0.80), 1000, 3),  # the first doubling by itself is not worth it
        ((0.785, 0.815, 0.847), 600, 0),
        ((0.80, 0.88, 0.88), 1000, 1),
        ((0.80, 0.88), 20, 0),  # too few to tell
        ((1.0,), 1000, 0),
    ],
)
def test_each_doubling_makes_a_fifth_of_the_wrong_answers_right(shares, asked, best):
    assert best_doublings(shares, asked) == best
