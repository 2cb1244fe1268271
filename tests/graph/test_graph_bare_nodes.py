"""Nodes with classes and no features: where edges lead to, and by which relation, is seen where linear models ask for it."""

import logging

import numpy as np
import pytest

from marius_lite.config.inputs import FIRST_HOPS
from marius_lite.config.model_sections import MOST_FIRST_HOPS
from marius_lite.graph import bare_nodes
from marius_lite.graph.bare_nodes import apart_rows
from marius_lite.graph.defaults import config_for

NODES, STAGES, SECTORS = 1600, 4, 8


def chain():
    """Nodes of four stages in eight sectors: most edges lead to the next stage of the sector."""
    rng = np.random.default_rng(0)
    place = rng.permutation(NODES) % (STAGES * SECTORS)  # sector * STAGES + stage
    members = [np.flatnonzero(place == each) for each in range(STAGES * SECTORS)]
    source = rng.integers(NODES, size=8 * NODES)
    onward = np.where(place[source] % STAGES < STAGES - 1, place[source] + 1, place[source])
    near = np.array([rng.choice(members[each]) for each in onward])
    return (source, np.where(rng.random(len(source)) < 0.85, near, rng.integers(NODES, size=len(source)))), place % STAGES


def groups():
    """Nodes most of whose edges stay in their class."""
    rng = np.random.default_rng(0)
    classes = np.arange(NODES) % STAGES
    source = rng.integers(NODES, size=6 * NODES)
    near = (source + STAGES * rng.integers(NODES // STAGES, size=len(source))) % NODES
    return (source, np.where(rng.random(len(source)) < 0.8, near, rng.integers(NODES, size=len(source)))), classes


def signed():
    """Edges of the first relation lead to the node's class, those of the second to others'."""
    (source, same), classes = groups()
    relation = np.arange(len(source)) % 2
    other = (same + 1 + np.random.default_rng(2).integers(STAGES - 1, size=len(same))) % NODES
    return (source, relation, np.where(relation == 0, same, other)), classes


def tried(dataset, ends=("in", "out")):
    return apart_rows(dataset, ends, lambda _: None, FIRST_HOPS, MOST_FIRST_HOPS)


def test_a_chain_is_walked_by_turns_and_seen_from_both_ends(classified, caplog):
    dataset = classified(*chain())
    found = tried(dataset)
    assert found.by_turns
    assert found.by_kind
    assert found.share > found.before + 0.1
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert (config.model.encoder, config.model.directions, config.init.by_turns) == ("rgcn", "both", True)
    assert config.init.hops == found.hops
    assert f"{found.share:.0%} of the labelled nodes right where neighbours are apart" in caplog.text
    assert "those of each direction from each other" in caplog.text
    assert "preset:sage" in caplog.text


def test_how_rows_are_shown_leaves_that_open(classified):
    config = config_for(classified(*chain()), None, ["model.input_dropout=0.2"])
    assert (config.model.encoder, config.init.by_turns, config.model.input_dropout) == ("rgcn", True, 0.2)


@pytest.mark.parametrize("given", ["model.directions=in", "init.hops=4", "model.encoder=gcn", "training.method=layerwise"])
def test_nothing_is_chosen_that_is_given(classified, given):
    config = config_for(classified(*chain()), None, [given])
    assert config.model.encoder != "rgcn"
    assert not config.init.by_turns


def test_alike_nodes_are_mixed_as_before(classified):
    dataset = classified(*groups())
    assert tried(dataset) is None
    assert config_for(dataset, None).model.encoder == "gcn"


def test_relations_are_told_apart(classified):
    dataset = classified(*signed(), "--columns", "src,rel,dst")
    found = tried(dataset)
    assert found.by_kind
    assert not found.by_turns
    config = config_for(dataset, None)
    assert (config.model.encoder, config.model.directions, config.init.by_turns) == ("rgcn", "both", False)


def test_edges_in_both_directions_have_one_end(classified):
    dataset = classified(*groups(), "--undirected")
    assert tried(dataset, ["in"]) is None
    assert config_for(dataset, None).model.directions == "in"


@pytest.mark.parametrize(("limit", "least"), [("MOST_NUMBERS", NODES // 2 * 5), ("MOST_MADE", NODES * 4)])
def test_rows_of_many_kinds_are_not_tried(classified, monkeypatch, limit, least):
    dataset = classified(*chain())
    monkeypatch.setattr(bare_nodes, limit, least * bare_nodes.LEAST_WIDTH)
    assert tried(dataset) is not None
    monkeypatch.setattr(bare_nodes, limit, least * bare_nodes.LEAST_WIDTH - 1)
    assert tried(dataset) is None
