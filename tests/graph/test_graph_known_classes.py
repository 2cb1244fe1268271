"""Classes of training nodes are read as they were given, and shown where classes pass along edges."""

import logging

import numpy as np
import pytest
from stored_nodes import stored

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.known_classes import trained_classes
from marius_lite.graph.node_inputs import may_see_known

NODES, TRAINED, CLASSES = 900, 380, 3


def test_they_are_those_of_training_nodes_alone(communities):
    dataset = Dataset.open(communities)
    assert dataset.labels is not None
    assert dataset.node_splits is not None
    found, trained = trained_classes(dataset, dataset.labels), dataset.node_splits.nodes("train")
    labels = np.concatenate([dataset.labels.read(k) for k in range(dataset.partitioning.partitions)])
    assert found.codes.dtype == np.uint8
    np.testing.assert_array_equal(found.codes[trained], labels[trained] + 1)
    assert np.count_nonzero(found.codes) == len(trained) < len(labels)
    np.testing.assert_allclose(found.shares, np.bincount(labels[trained]) / len(labels), rtol=1e-6)


def passed_on(cli, folder, passes, loops=0):
    """Classes by chance; or, as far as they ``pass``, those of a neighbour. Features say nothing."""
    rng = np.random.default_rng(2)
    source, target = np.repeat(np.arange(NODES), 4), rng.integers(NODES, size=4 * NODES)
    known = [np.r_[target[source == node], source[target == node]] for node in range(NODES)]
    y = rng.integers(CLASSES, size=NODES)
    for node in rng.integers(NODES, size=3 * NODES):
        if rng.random() < passes:
            y[node] = y[rng.choice(known[node])]
    itself = np.arange(loops)
    edges = np.stack([np.r_[source, itself], np.r_[target, itself]], 1)
    np.save(folder / "edges.npy", edges)
    np.save(folder / "x.npy", rng.normal(size=(NODES, 4)).astype(np.float32))
    np.save(folder / "y.npy", y)
    stored(cli, folder, rng.permutation(NODES), TRAINED)
    return Dataset.open(folder / "d")


def test_where_classes_pass_along_edges_they_are_seen(cli, tmp_path, caplog):
    dataset = passed_on(cli, tmp_path, 0.9)
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert config.model.known_classes
    assert config.training.batch_size == 48, "eight batches"
    assert config.model.encoder == "sage"
    assert "by which of their neighbours are training nodes of which class" in caplog.text
    assert not config_for(dataset, None, ["model.known_classes=false"]).model.known_classes
    sizes = ([], 48), (["training.batch_size=100"], 100)
    for given, size in sizes:
        assert config_for(dataset, "preset:gcn", ["model.known_classes=true", *given]).training.batch_size == size


@pytest.mark.parametrize(
    ("given", "may"),
    [
        ({}, True),
        ({"training": {"batch_size": 119}}, True),
        ({"training": {"batch_size": 120}}, False),
        ({"training": {"method": "layerwise"}}, False),
        ({"model": {"directions": "both"}}, True),
        ({"model": {"encoder": "gcn"}}, False),
        ({"model": {"known_classes": False}}, False),
        ({"scale": {"ranks": 2}}, False),
    ],
)
def test_what_is_given_may_settle_it(communities, given, may):
    assert may_see_known(Dataset.open(communities), given) == may


@pytest.mark.parametrize("loops", [0, NODES])
def test_where_they_do_not_they_are_not(cli, tmp_path, loops):
    """A node that is its own neighbour would tell what it is asked."""
    assert not config_for(passed_on(cli, tmp_path, 0, loops), None).model.known_classes
