"""Nodes with classes and no features: how many neighbours they have is seen where linear models ask for it."""

import logging

import numpy as np
import pytest

from marius_lite.config.inputs import FIRST_HOPS
from marius_lite.graph.bare_degrees import counted_rows
from marius_lite.graph.defaults import config_for

NODES = 1600


def sizes(groups=1):
    """Nodes of four classes with few to many links, to anybody; or of ``groups``, the classes, with links to their own."""
    rng = np.random.default_rng(0)
    size, group = rng.integers(4, size=NODES), rng.integers(groups, size=NODES)
    weight = np.array([1.0, 3, 7, 17])[size]
    source = rng.choice(NODES, 5 * NODES, p=weight / weight.sum())
    target = rng.choice(NODES, 5 * NODES, p=weight / weight.sum())
    for each in range(groups):
        here = group[source] == each
        members = np.flatnonzero(group == each)
        target[here] = rng.choice(members, here.sum(), p=weight[members] / weight[members].sum())
    return (source, target), (size if groups == 1 else group)


def tried(dataset, hops=FIRST_HOPS):
    return counted_rows(dataset, "in", lambda _: None, hops)


def test_numbers_of_neighbours_are_seen_where_they_tell_classes(classified, caplog):
    dataset = classified(*sizes(), "--undirected")
    found = tried(dataset)
    assert found.share > found.before + 0.1
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert (config.model.encoder, config.model.directions) == ("sage", "in")
    assert config.model.degree_unit == pytest.approx(found.neighbours, rel=0.01)
    assert f"{max(found.share, found.alone):.0%} of the labelled nodes right where they see how many neighbours" in caplog.text
    assert (config.model.dim == 4) == found.tell_all


def test_of_edges_in_one_direction_both_ends_are_counted(classified):
    config = config_for(classified(*sizes()), None)
    assert config.model.degree_unit == pytest.approx(10, rel=0.05)
    assert config.model.directions == "both"


def test_where_a_group_is_the_class_numbers_say_nothing(classified):
    dataset = classified(*sizes(groups=4), "--undirected")
    assert tried(dataset) is None
    config = config_for(dataset, None)
    assert (config.model.encoder, config.model.degree_unit) == ("gcn", 0)


@pytest.mark.parametrize("given", ["model.degree_unit=0", "model.encoder=gcn", "init.hops=4", "training.method=layerwise"])
def test_nothing_is_chosen_that_is_given(classified, given):
    config = config_for(classified(*sizes(), "--undirected"), None, [given])
    assert config.model.degree_unit == 0


def test_what_is_asked_of_rows_leaves_that_open(classified):
    config = config_for(classified(*sizes(), "--undirected"), None, ["model.dim=32", "model.dropout=0.2"])
    assert config.model.degree_unit > 0
    assert config.model.dim == 32


def test_nothing_is_tried_that_takes_long(classified, monkeypatch):
    dataset = classified(*sizes(), "--undirected")
    monkeypatch.setattr("marius_lite.graph.first_hops.MOST_GATHERED", 1 << 20)
    assert tried(dataset) is None
