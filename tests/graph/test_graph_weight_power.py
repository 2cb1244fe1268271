"""What weights say is found by walks over training links: how strong a link is, how far apart its ends are, or nothing."""

import logging

import numpy as np
import pytest

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph import weight_power as module
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.remarks import unused
from marius_lite.graph.weight_power import weight_power, with_power
from marius_lite.graph.weighted_walks import Walks, weighed_links


@pytest.fixture
def stored(cli, tmp_path):
    def write(columns, weights, *options):
        """Edges of (source, destination) or (source, relation, destination)."""
        table = np.column_stack([*columns, *([] if weights is None else [weights])]).astype(float)
        np.save(tmp_path / "edges.npy", table if weights is not None else table.astype(int))
        named = ["src", "dst"] if len(columns) == 2 else ["src", "rel", "dst"]
        told = ["--columns", ",".join([*named, *(["weight"] if weights is not None else [])])]
        folder = tmp_path / f"data{len([*tmp_path.iterdir()])}"
        assert cli("preprocess", tmp_path / "edges.npy", *told, *options, "--output", folder, "--partitions", "3") == 0
        return Dataset.open(folder)

    return write


def ties(seed=0, nodes=600, size=20, near=4, far=6):
    """Links inside groups and by chance: sources, destinations, and which are inside."""
    rng = np.random.default_rng(seed)
    src, inside = np.repeat(np.arange(nodes), near + far), np.tile(np.arange(near + far) < near, nodes)
    dst = np.where(inside, src // size * size + rng.integers(size, size=len(src)), rng.integers(nodes, size=len(src)))
    return [src, dst], inside


def drawn(inside, scale, seed=1):
    """Weights around ``scale`` inside groups, and around 1 elsewhere."""
    return np.random.default_rng(seed).gamma(2, np.where(inside, scale, 1))


@pytest.mark.parametrize("options", [[], ["--undirected"]])
def test_strong_ties_have_a_power_above_0_and_distances_one_below(stored, options):
    ends, inside = ties()
    strong, far = (weight_power(stored(ends, drawn(inside, scale), *options)) for scale in (5, 1 / 5))
    assert strong.power > 0 > far.power
    for found in (strong, far):
        assert found.by_weights > 1.3 * found.alike


@pytest.mark.parametrize("seed", range(4))
def test_weights_that_say_nothing_have_none(stored, seed):
    ends, _ = ties(seed)
    for weights in (np.random.default_rng(seed).lognormal(0, 1, len(ends[0])), np.random.default_rng(seed).random(len(ends[0]))):
        assert weight_power(stored(ends, weights)) is None


def test_a_long_tail_has_a_root(stored):
    ends, inside = ties(nodes=1000)
    weights = np.where(inside, 4, 1) * (1 + np.random.default_rng(0).pareto(0.8, len(inside)))
    weights[7] = 1e7
    assert weight_power(stored(ends, weights)).power in (0.25, 0.5)


def test_facts_of_several_relations_are_told_apart_by_how_sure_they_are(stored):
    rng = np.random.default_rng(0)
    src, rel, right = rng.integers(400, size=6000), rng.integers(3, size=6000), rng.random(6000) < 0.5
    led = (src // 20 + 3 * rel + 1) % 20 * 20 + rng.integers(20, size=6000)
    dst = np.where(right, led, rng.integers(400, size=6000))
    assert weight_power(stored([src, rel, dst], np.where(right, 0.9, 0.2) + 0.1 * rng.random(6000))).power > 0


def test_nothing_is_found_where_links_are_few_or_weights_equal(stored):
    ends, inside = ties()
    assert weight_power(stored([each[:300] for each in ends], drawn(inside, 5)[:300])) is None
    assert weight_power(stored(ends, np.full(len(inside), 3.0))) is None
    assert weight_power(stored([np.zeros(9, int), np.zeros(9, int)], np.arange(9))) is None  # self-loops


def test_links_have_the_weights_of_their_edges(stored):
    src, dst = np.array([0, 1, 1, 2, 5, 0]), np.array([1, 0, 2, 1, 5, 4])
    found = weighed_links(stored([src, dst], np.array([1, 2, 4, 8, 16, 32])))
    summed = found.summed(found.weights)
    assert sorted(summed) == [3, 12, 32]
    assert found.nodes == 4
    middle, outer = found.links[summed == 12][0], found.links[summed == 32][0]
    assert len({*middle, *found.links[summed == 3][0]}) == 3
    assert len({*middle, *outer}) == 4


def test_walks_find_what_dense_products_find():
    rng = np.random.default_rng(0)
    links = np.unique(np.sort(rng.integers(40, size=(150, 2)), 1), axis=0)
    links = rng.permutation(links[links[:, 0] != links[:, 1]]).astype(np.int32)
    asked, links, shares = links[:20], links[20:], rng.random(len(links) - 20).astype(np.float32)
    matrix = np.zeros((40, 40))
    matrix[links[:, 0], links[:, 1]] = matrix[links[:, 1], links[:, 0]] = shares
    roots = 1 / np.sqrt(np.maximum(matrix.sum(0), 1e-9))
    steps = matrix * roots[:, None] * roots
    for found, walks in zip(
        Walks(40, links, asked).reciprocal_ranks(shares), (steps @ steps + steps @ steps @ steps @ steps, steps @ steps @ steps)
    ):
        expected = []
        for one, other in asked:
            both = []
            for start, end in ((one, other), (other, one)):
                open_to = (matrix[start] == 0) & (np.arange(40) != start)
                above = (walks[start] > walks[start, end] + 1e-6) & open_to
                equal = (np.abs(walks[start] - walks[start, end]) <= 1e-6) & open_to
                both.append(1 / (1 + above.sum() + (equal.sum() - 1) / 2))
            expected.append(np.mean(both))
        np.testing.assert_allclose(found, expected, rtol=0.02)  # of walks that are nearly equal, rounding decides


def test_of_a_large_graph_some_nodes_are_looked_at(stored, monkeypatch):
    ends, inside = ties(nodes=900)
    dataset = stored(ends, drawn(inside, 5))
    monkeypatch.setattr("marius_lite.graph.link_steps.MOST_NODES", 500)
    found = weighed_links(dataset)
    assert found.nodes == 500
    assert found.links.max() == 499
    assert len(found.weights) == len(found.of)
    assert 0 <= found.of.min() <= found.of.max() < len(found.links)


def test_the_configuration_has_what_was_found_and_the_log_says_why(stored, caplog):
    ends, inside = ties()
    dataset = stored(ends, drawn(inside, 5))
    found = weight_power(dataset)
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = with_power(dataset, load())
    assert config.training.weight_power == found.power
    assert f"training.weight_power={found.power:g}" in caplog.text
    assert f"{found.by_weights:.3f} by that power" in caplog.text
    assert not [line for line in unused(dataset.manifest, config) if "weights" in line]
    assert with_power(dataset, load(sets=["training.weight_power=0"])).training.weight_power == 0
    assert with_power(dataset, load(sets=["training.weight_power=-1"])).training.weight_power == -1


def test_large_graphs_are_not_looked_at(stored, caplog, monkeypatch):
    ends, inside = ties()
    dataset = stored(ends, drawn(inside, 5))
    with caplog.at_level(logging.INFO, "marius_lite"):
        assert with_power(dataset, load(sets=["storage.memory=1MB"])).training.weight_power == 0
        monkeypatch.setattr(module, "MOST_EDGES", 1000)
        config = with_power(dataset, load())
    assert config.training.weight_power == 0
    assert caplog.text.count("too many to find out") == 2
    assert [line for line in unused(dataset.manifest, config) if "`training.weight_power` is 0" in line]


def test_edges_without_weights_are_all_alike(stored):
    dataset = stored(ties()[0], None)
    assert with_power(dataset, load()).training.weight_power == 0
    with pytest.raises(UserError, match=r"weight_power` is 0\.5, but its edges have no weights: preprocess"):
        with_power(dataset, load(sets=["training.weight_power=0.5"]))


def test_powers_that_there_are_not_are_told():
    with pytest.raises(UserError, match=r"`training\.weight_power` is 0\.3: choose one of 1, 0\.5, 0\.25, 0, -0\.25, -0\.5, -1"):
        load(sets=["training.weight_power=0.3"])
    with pytest.raises(UserError, match=r"weight_power` is 1, but `task` is node_classification: only edges are"):
        load(sets=["training.weight_power=1", "task=node_classification", "model.encoder=gcn"])
