"""Links that no inner product holds: walks of three steps tell them, walks of two and four do not."""

import logging

import numpy as np
import pytest

from marius_lite.graph import link_steps as module
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.link_steps import link_steps

MEMORY = 1 << 30


@pytest.fixture
def stored(cli, tmp_path):
    def write(pairs, *options):
        np.save(tmp_path / "edges.npy", np.array(pairs))
        assert cli("preprocess", tmp_path / "edges.npy", "--undirected", *options, "--output", tmp_path / "data") == 0
        return Dataset.open(tmp_path / "data")

    return write


def streets(side=30):
    """A grid with a tenth of its streets missing."""
    rng, at = np.random.default_rng(0), np.arange(side * side).reshape(side, side)
    pairs = np.concatenate([np.stack([at[:, :-1], at[:, 1:]], -1).reshape(-1, 2), np.stack([at[:-1], at[1:]], -1).reshape(-1, 2)])
    return rng.permutation(side * side)[pairs[rng.random(len(pairs)) < 0.9]]


def members(people=600, clubs=100, topics=10):
    """People in clubs of their topic."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(people), 6)
    return np.stack([person, people + (person % topics) + topics * rng.integers(clubs // topics, size=len(person))], 1)


def friends(people=800, size=20):
    """People who know others of their group."""
    rng = np.random.default_rng(0)
    one = rng.integers(people, size=4 * people)
    pairs = np.stack([one, one // size * size + rng.integers(size, size=len(one))], 1)
    return pairs[pairs[:, 0] != pairs[:, 1]]


@pytest.mark.parametrize("links", [streets, members])
def test_three_steps_tell_links_between_nodes_that_are_not_alike(stored, caplog, links):
    dataset = stored(links(), "--partitions", "3")
    found = link_steps(dataset, MEMORY)
    assert found.three > 2 * found.even
    with caplog.at_level(logging.INFO, "marius_lite"):
        assert config_for(dataset, None).model.decoder == "complex"
    assert f"reciprocal rank of {found.three:.3f}" in caplog.text
    assert config_for(dataset, None, ["model.decoder=dot"]).model.decoder == "dot"


def test_alike_nodes_have_neighbours_in_common(stored):
    dataset = stored(friends())
    assert link_steps(dataset, MEMORY) is None
    assert config_for(dataset, None).model.decoder == "dot"


def test_of_a_large_graph_some_nodes_are_looked_at(stored, monkeypatch):
    monkeypatch.setattr(module, "MOST_NODES", 600)
    dataset = stored(streets())
    nodes, links = module._near(900, module._links(dataset))
    assert nodes == 600
    assert len(np.unique(links)) <= nodes
    assert 700 < len(links) < 1100  # nearly all that these have: twice as many ends as links, of four streets each
    assert link_steps(dataset, MEMORY) is not None


def test_parts_without_links_between_them_are_all_found(monkeypatch):
    monkeypatch.setattr(module, "MOST_NODES", 60)
    monkeypatch.setattr(module, "STARTS", 1)
    pairs = np.arange(100, dtype=np.int32).reshape(50, 2)
    nodes, links = module._near(100, pairs)
    assert nodes == 60
    assert len(links) >= 29


def test_each_link_counts_once_however_often_it_is_stored(stored):
    pairs = friends()
    once = np.unique(np.sort(pairs, 1), axis=0)
    found = module._links(stored(np.concatenate([pairs, pairs[:, ::-1], pairs])))
    assert len(np.unique(found, axis=0)) == len(found) == len(once)


def test_nothing_is_said_of_few_links_or_with_little_memory(stored, monkeypatch):
    dataset = stored(streets())
    assert link_steps(dataset, 1 << 10) is None
    monkeypatch.setattr(module, "MOST_EDGES", 100)
    assert link_steps(dataset, MEMORY) is None
    monkeypatch.undo()
    assert link_steps(stored(streets(8), "--overwrite"), MEMORY) is None
