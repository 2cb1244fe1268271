"""What is taken where classes are rare, or nodes have several of them, and linear models hardly tell."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from stored_nodes import stored

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.hops import tried
from marius_lite.graph.linear_shares import Shares, Tried
from marius_lite.graph.node_defaults import by_several


def test_of_rare_classes_numbers_of_neighbours_at_either_end_are_shown(cli, tmp_path, caplog):
    """The few that get from many and pass it on to few have as many neighbours as all others. Features say nothing."""
    rng, nodes = np.random.default_rng(0), 1500
    few = np.arange(nodes) % 20 == 0
    into, out = np.where(few, 8, rng.integers(1, 9, nodes)), np.where(few, 1, rng.integers(1, 9, nodes))
    target = rng.permutation(np.repeat(np.arange(nodes), into))
    source = rng.permutation(np.repeat(np.arange(nodes), out))[: len(target)]
    target = target[: len(source)]
    np.save(tmp_path / "edges.npy", np.stack([source, target], 1))
    np.save(tmp_path / "x.npy", rng.normal(size=(nodes, 4)).astype(np.float32))
    np.save(tmp_path / "y.npy", few.astype(np.int64))
    stored(cli, tmp_path, rng.permutation(nodes), 500)
    dataset = Dataset.open(tmp_path / "d")
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert (config.model.directions, config.model.degrees_apart) == ("both", True)
    assert config.model.degree_unit == pytest.approx(len(source) / nodes, rel=0.01)
    assert "model.degrees_apart=true, because linear models rank" in caplog.text
    assert not config_for(dataset, None, ["model.degree_unit=0"]).model.degrees_apart
    assert not config_for(dataset, None, ["model.degrees_apart=false"]).model.degrees_apart


def test_of_rare_classes_what_is_in_doubt_is_shown():
    seen = Tried(0.7, 0.7, (0.7,) * 4, 0.7, 40, rare=True, directions="both", related_directions="both")
    counted = Shares(0.7, (0.7,) * 4, 0.7, 0.69, 0.69, 5.0)
    for rare in (True, False):
        assert replace(seen, rare=rare, counted=counted).better_counted == rare
        assert replace(seen, rare=rare, related_counted=(0.69, 5.0)).better_related_counted == rare
        assert replace(seen, rare=rare, counted=counted).better_related == rare, "each end by itself"
    assert not replace(seen, counted=replace(counted, counted=0.4, counted_mixed=0.4)).better_counted
    assert not replace(seen, related_directions="in").better_related
    assert not replace(seen, related=0.4).better_related
    assert "hardly tell" in seen.in_doubt(0.6, 0.7)
    assert not seen.in_doubt(0.7, 0.6)


def test_where_nodes_have_several_classes_that_little_shrinkage_tells_weights_decay_less(several, caplog):
    dataset = Dataset.open(several)
    seen = tried(dataset, directions=["in"])
    with caplog.at_level(logging.INFO, "marius_lite"):
        chosen = by_several(dataset, "preset:gcn", {}, replace(seen, several_shrinkage=0.1))
    assert chosen == ["optimizer.dense.weight_decay=[0.0001, 0.0]"]
    assert "because nodes have several classes, of 5" in caplog.text
    assert by_several(dataset, "preset:sage", {}, replace(seen, several_shrinkage=0.1)) == ["optimizer.dense.weight_decay=0.0001"]
    assert not by_several(dataset, "preset:gcn", {}, replace(seen, several_shrinkage=1.0))
    assert not by_several(dataset, "preset:gcn", {}, seen), "each node has one"
    given = {"optimizer": {"dense": {"weight_decay": 0.1}}}
    assert not by_several(dataset, "preset:gcn", given, replace(seen, several_shrinkage=0.1))
