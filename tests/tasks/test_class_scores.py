"""Scores of classes become log odds by the validation nodes, where a node may have several; others stay as they are."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.config.load import load
from marius_lite.evaluate.platt import PlattScaling
from marius_lite.graph.dataset import Dataset
from marius_lite.tasks import class_scores
from marius_lite.tasks.checkpoint import open_checkpoint
from marius_lite.tasks.class_probabilities import class_probabilities, open_classifier
from marius_lite.tasks.class_scores import Calibration, ClassScores, best_threshold, calibrated
from marius_lite.tasks.node_evaluation import classify_split
from marius_lite.train.run import train_run


class Told:
    """Scores (nodes, classes) in an array."""

    def __init__(self, dataset, scores):
        self.rows, self.scores, self.read = dataset.partitioning.rows, scores.astype(np.float32), 0

    def read_rows(self, k, offsets, columns):
        self.read += len(offsets)
        return self.scores[k * self.rows + offsets, columns]


@pytest.fixture(scope="module")
def dataset(several):
    return Dataset.open(several)


@pytest.fixture(scope="module")
def labels(dataset):
    """Of all nodes, in order of node id."""
    found = dataset.required_labels()
    return np.concatenate(
        [found.reader(k)(np.arange(dataset.partitioning.size(k))) for k in range(dataset.partitioning.partitions)]
    )


def odds_of(labels, seed=0):
    """Log odds that the labels may have been drawn from: right ones on the whole, and sometimes wrong by as much as they say."""
    return np.random.default_rng(seed).normal(size=labels.shape) * 2 + 2 * (2 * labels - 1)


@given(st.floats(0.05, 20), st.floats(-5, 5))
@settings(max_examples=30, deadline=None)
def test_however_scores_are_scaled_the_log_odds_are_the_same(dataset, labels, slope, offset):
    odds = odds_of(labels)
    plain, scaled = (calibrated(dataset, Told(dataset, scores), 0) for scores in (odds, (odds - offset) / slope))
    np.testing.assert_allclose(scaled.scaling.odds((odds - offset) / slope), plain.scaling.odds(odds), rtol=1e-3, atol=1e-3)
    assert scaled.least == pytest.approx(plain.least, abs=1e-2)
    assert 0.5 < plain.scaling.slope < 2


def test_what_is_read_is_scaled(dataset, labels):
    told = Told(dataset, odds_of(labels))
    scores, asked = ClassScores(told, Calibration(PlattScaling(2.0, -1.0), 0.25)), (1, np.array([0, 3]), slice(1, 3))
    assert scores.least == 0.25
    read = scores.read_rows(*asked)
    assert read.dtype == np.float32
    np.testing.assert_allclose(read, 2 * told.read_rows(*asked) - 1, rtol=1e-6)
    np.testing.assert_array_equal(ClassScores(told).read_rows(*asked), told.read_rows(*asked))
    assert ClassScores(told).least == 0


def test_only_validation_nodes_are_asked(dataset, labels):
    odds, valid = odds_of(labels), dataset.node_split("valid")
    others = np.setdiff1d(np.arange(len(odds)), valid)
    expected = calibrated(dataset, Told(dataset, odds), 0)
    odds[others] = np.nan
    told = Told(dataset, odds)
    assert calibrated(dataset, told, 0) == expected
    assert told.read == len(valid)


def test_of_many_nodes_some_are_taken(dataset, labels, monkeypatch):
    monkeypatch.setattr(class_scores, "FITTED", 20 * labels.shape[1])
    told = [Told(dataset, odds_of(labels)) for _ in range(3)]
    first, again, other = (calibrated(dataset, each, seed) for each, seed in zip(told, (0, 0, 1)))
    assert [each.read for each in told] == [20] * 3
    assert first == again != other


@pytest.mark.parametrize("wrong", ["upside down", "not a number", "infinite", "the same"])
def test_scores_that_say_nothing_stay_as_they_are(dataset, labels, wrong):
    odds, node = odds_of(labels), dataset.node_split("valid")[0]
    if wrong == "upside down":
        odds = -odds
    elif wrong == "the same":
        odds[:] = 1
    else:
        odds[node, 0] = np.nan if wrong == "not a number" else np.inf
    assert calibrated(dataset, Told(dataset, odds), 0) is None


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.lists(st.integers(-3, 3), max_size=12))
def test_no_threshold_has_a_higher_f1(true, false):
    true, false = (np.array(each, np.float32) for each in (true, false))
    threshold = best_threshold(true, false)
    every = [*np.arange(-4, 4, 0.5), float(threshold)]
    f1 = [2 * (true >= t).sum() / (len(true) + (true >= t).sum() + (false >= t).sum()) for t in every]
    assert f1[-1] == max(f1)


SETTINGS = ["task=node_classification", "model.encoder=gcn", "model.layers=[8]", "storage.capacity=2", "training.epochs=4"]


def figures(run):
    with closing(open_checkpoint(run, None)) as found:
        told = classify_split(found.dataset, open_classifier(found), found.config, "test", found.run.path, found.table)
        with class_probabilities(found, found.dataset.node_split("test")) as classified:
            parts = [*classified]
    answers, chances = (np.concatenate([getattr(part, name) for part in parts]) for name in ("answers", "probabilities"))
    return told, answers, chances


def test_a_run_that_sees_a_quarter_of_the_links(several, labels, tmp_path):
    """The same model: its classes are in the same order, its probabilities nearer to the truth, and more answers right."""
    dataset = Dataset.open(several)
    runs = {}
    for value in ("true", "false"):
        train_run(dataset.path, tmp_path / value, load(sets=[*SETTINGS, f"evaluation.calibrated={value}"]))
        runs[value] = figures(tmp_path / value)
    truth = labels[dataset.node_split("test")] == 1
    (with_it, answers, chances), (without, plain, plain_chances) = runs["true"], runs["false"]
    assert chances[answers].min() >= chances[~answers].max()
    np.testing.assert_array_equal(plain, plain_chances >= 0.5)
    assert with_it["roc_auc"] == pytest.approx(without["roc_auc"], abs=1e-3)
    assert with_it["log_loss"] < without["log_loss"]
    assert with_it["micro_f1"] > without["micro_f1"]
    assert with_it["micro_f1"] == pytest.approx(2 * (answers & truth).sum() / (answers.sum() + truth.sum()))
