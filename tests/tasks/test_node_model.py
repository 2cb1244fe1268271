"""A classifier's training nodes have the labels of their files, and its loss weighs classes as asked."""

import numpy as np
import pytest
import torch
from open_parts import CLASSES

from marius_lite.config.load import load
from marius_lite.graph import Dataset
from marius_lite.tasks.node_model import class_weights, make_classifier, training_nodes


def test_training_labels_are_those_of_their_nodes(several):
    dataset = Dataset.open(several)
    training = training_nodes(dataset)
    assert (training.labels.dtype, training.labels.shape) == (np.int8, (120, 5))
    raw, labels = dataset.raw_ids(0, 600).to_numpy(), np.load(several.parent / "labels.npy")
    np.testing.assert_array_equal(training.labels, labels[raw[training.ids]])
    some = training.ids[[7, 3, 100]]
    np.testing.assert_array_equal(training.labels_of(some), labels[raw[some]])


def test_weights_of_classes():
    sets = ["task=node_classification", "model.encoder=sage"]
    labels = np.array([0, 0, 0, 2])
    assert class_weights(load(sets=sets), labels, 3) is None
    balanced = class_weights(load(sets=[*sets, "loss.class_weights=balanced"]), labels, 3)
    torch.testing.assert_close(balanced, torch.tensor([4 / 9, 4 / 3, 4 / 3]))  # each class counts as much as another in all
    given = class_weights(load(sets=[*sets, "loss.class_weights=[1,5,1]"]), labels, 3)
    torch.testing.assert_close(given, torch.tensor([1.0, 5, 1]))


def test_balanced_weights_are_negatives_over_positives():
    sets = ["task=node_classification", "model.encoder=sage"]
    labels = np.int8([[1, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 1], [0, 0, 1]])
    assert class_weights(load(sets=sets), labels, 3) is None
    balanced = class_weights(load(sets=[*sets, "loss.class_weights=balanced"]), labels, 3)
    torch.testing.assert_close(balanced, torch.tensor([3 / 2, 5 / 1, 1 / 5]))
    given = class_weights(load(sets=[*sets, "loss.class_weights=[1,5,1]"]), labels, 3)
    torch.testing.assert_close(given, torch.tensor([1.0, 5, 1]))


@pytest.mark.parametrize("trains", [True, False])
def test_a_model_that_is_only_read_weighs_no_classes(communities, trains):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    dataset, config = Dataset.open(communities), load(sets=[*CLASSES, "loss.class_weights=balanced", "model.inputs=features"])
    one, other = (make_classifier(dataset, config, trains=each) for each in (trains, True))
    scores, labels = torch.eye(4), torch.tensor([0, 1, 2, 2])
    assert (one.gradients(scores, labels)[0] == other.gradients(scores, labels)[0]) == trains
    assert all(torch.equal(a, b) for a, b in zip(one.encoder.parameters(), other.encoder.parameters()))
