"""What a model says of nodes: probabilities of all classes, and the answer that follows; of some nodes the same as of all."""

from contextlib import closing

import numpy as np
import pytest

from marius_lite.graph.dataset import Dataset
from marius_lite.tasks.checkpoint import open_checkpoint
from marius_lite.tasks.class_probabilities import SPLITS, class_probabilities, open_classifier

SAID = ("nodes", "split", "answers", "probabilities")


@pytest.fixture
def found(class_run):
    with closing(open_checkpoint(class_run, None)) as checkpoint:
        yield checkpoint


def said(found, nodes=None):
    with class_probabilities(found, nodes) as classified:
        parts = list(classified)
    return {name: np.concatenate([getattr(part, name) for part in parts]) for name in SAID}


def test_every_node_in_order(found, communities):
    every = said(found)
    np.testing.assert_array_equal(every["nodes"], np.arange(600))
    np.testing.assert_allclose(every["probabilities"].sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(every["answers"], every["probabilities"].argmax(1))
    dataset = Dataset.open(communities)
    for split in ("train", "valid", "test"):
        np.testing.assert_array_equal(every["nodes"][every["split"] == SPLITS.index(split)], dataset.node_split(split))


def test_some_nodes_are_answered_alike(found):
    some, every = np.array([3, 4, 300, 599]), said(found)
    asked = said(found, some)
    np.testing.assert_array_equal(asked["nodes"], some)
    for name, values in asked.items():
        np.testing.assert_array_equal(values, every[name][some])


def test_the_model_has_the_weights_of_its_checkpoint(found):
    one, other = open_classifier(found), open_classifier(found)
    assert not one.training
    assert all((a == b).all() for a, b in zip(one.parameters(), other.parameters()))


def test_nothing_is_left_in_the_run(found):
    said(found)
    assert not list(found.run.path.glob(".vectors*"))
