"""Classes of training nodes are tried by relation and direction, and shown where one relation passes them on."""

import logging

import numpy as np
import pytest
from stored_nodes import stored

from marius_lite.graph import known_shares as shares
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for, linear_models
from marius_lite.graph.known_shares import by_kinds, classes_of_trained, known_beside_rows
from marius_lite.graph.whole_lists import whole_lists

NODES, TRAINED, CLASSES = 3000, 1300, 8


def words(cli, folder, passes, features=0):
    """A word is a kind of another, which gives it its class as far as classes ``pass``. Two other relations say nothing."""
    rng = np.random.default_rng(4)
    order, y = rng.permutation(NODES), rng.integers(CLASSES, size=NODES)
    edges = []
    for place in range(CLASSES, NODES):
        word, kind = order[place], order[rng.integers(place)]
        if rng.random() < passes:
            y[word] = y[kind]
        edges += [(word, 0, kind), *((word, relation, other) for relation in (1, 2) for other in rng.integers(NODES, size=2))]
    np.save(folder / "edges.npy", np.array(edges))
    np.save(folder / "x.npy", rng.normal(size=(NODES, max(features, 1))).astype(np.float32))
    np.save(folder / "y.npy", y)
    stored(cli, folder, rng.permutation(NODES), TRAINED, features=bool(features))
    return Dataset.open(folder / "d")


@pytest.mark.parametrize("features", [0, 4])
def test_where_one_relation_passes_classes_on_they_are_seen_by_relation(cli, tmp_path, caplog, features):
    dataset = words(cli, tmp_path, 0.95, features)
    with caplog.at_level(logging.INFO, "marius_lite"):
        model = config_for(dataset, None).model
    assert (model.known_classes, model.encoder, model.directions) == (True, "rgcn", "both")
    assert ("by which of their neighbours, those of" if features else "by which neighbours, of each relation") in caplog.text
    for given in ("model.known_classes=false", "training.method=cluster"):
        assert not config_for(dataset, None, [given]).model.known_classes


@pytest.mark.parametrize("features", [0, 4])
def test_where_none_does_they_are_not(cli, tmp_path, features):
    dataset = words(cli, tmp_path, 0, features)
    assert not config_for(dataset, None).model.known_classes
    if features:
        seen = linear_models(dataset, known=True)
        assert seen.known.share < 1.6 / CLASSES
    else:
        assert known_beside_rows(dataset, "both", 8) is None


def test_no_node_sees_its_own_class_over_two_hops(cli, tmp_path, monkeypatch):
    """Classes by chance stay as hard to tell as by chance, though a node is a neighbour of its neighbours."""
    monkeypatch.setattr(shares, "clear", lambda *_: True)
    found = known_beside_rows(words(cli, tmp_path, 0), "both", 8)
    assert found.share < 1.6 / CLASSES
    assert found.without < 1.6 / CLASSES


def test_columns_of_each_kind(cli, tmp_path, monkeypatch):
    dataset = words(cli, tmp_path, 0.9)
    lists, classes = whole_lists(dataset), classes_of_trained(dataset, slice(None))
    assert classes.sum() == TRAINED
    ids = dataset.lookup_nodes(list(range(NODES)))
    y = np.load(tmp_path / "y.npy")
    trained = np.load(tmp_path / "train.npy")
    assert (classes[ids[trained]].argmax(1) == y[trained]).all()
    expected = np.zeros((3, NODES, CLASSES))
    counts = np.zeros((3, NODES, 1))
    for word, relation, other in np.load(tmp_path / "edges.npy").tolist():
        expected[relation, ids[other]] += classes[ids[word]]
        counts[relation, ids[other]] += 1
    asked = np.arange(5, NODES, 7)
    found = by_kinds([classes], "both", 3, lists.facing, asked)
    np.testing.assert_allclose(found[:3], (expected / np.maximum(counts, 1))[:, asked], atol=1e-6)
    assert len(found) == 6
    assert len(by_kinds([classes, classes], "in", 3, lists.facing, asked)) == 6
    assert by_kinds([classes], "in", 1, lists.facing, asked) == []
    monkeypatch.setattr(shares, "MOST_COLUMNS", 6 * CLASSES - 1)
    assert by_kinds([classes], "both", 3, lists.facing, asked) == []


def test_many_classes_are_not_tried(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(shares, "MOST_CLASSES", CLASSES - 1)
    dataset = words(cli, tmp_path, 0.95)
    assert classes_of_trained(dataset, slice(None)) is None
    assert not config_for(dataset, None).model.known_classes
