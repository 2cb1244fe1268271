"""What scores of classes say is fitted on validation nodes alone, and makes a model's figures better, not its order other."""

import json
from contextlib import closing

import numpy as np
import pytest
from node_runs import forget, train

import marius_lite as ml
from marius_lite.config.load import load
from marius_lite.evaluate.class_calibration import UNFITTED, of_one_class, of_several_classes
from marius_lite.graph.dataset import Dataset
from marius_lite.tasks import class_scores
from marius_lite.tasks.checkpoint import open_checkpoint
from marius_lite.tasks.class_probabilities import class_probabilities, open_classifier
from marius_lite.tasks.class_scores import calibrated, fitted_nodes
from marius_lite.tasks.node_evaluation import classify_split
from marius_lite.train.run import train_run


class Told:
    """Scores (nodes, classes) in an array."""

    def __init__(self, dataset, scores):
        self.rows, self.scores, self.read = dataset.partitioning.rows, scores.astype(np.float32), 0

    def read_rows(self, k, offsets, columns):
        self.read += len(offsets)
        return self.scores[k * self.rows + offsets, columns]


@pytest.fixture(params=["several", "communities"])
def dataset(request):
    return Dataset.open(request.getfixturevalue(request.param))


@pytest.fixture
def labels(dataset):
    """Of all nodes, in order of node id."""
    found, sizes = dataset.required_labels(), dataset.partitioning
    return np.concatenate([found.reader(k)(np.arange(sizes.size(k))) for k in range(sizes.partitions)])


@pytest.fixture
def scores(dataset, labels):
    """Right on the whole."""
    truth = labels if labels.ndim == 2 else np.eye(dataset.required_labels().classes)[labels]
    return (2 * np.random.default_rng(0).normal(size=truth.shape) + 3 * truth).astype(np.float32)


def test_only_validation_nodes_are_asked(dataset, labels, scores):
    valid, several = dataset.node_split("valid"), labels.ndim == 2
    scores[np.setdiff1d(np.arange(len(scores)), valid)] = np.nan
    told = Told(dataset, scores)
    assert calibrated(dataset, told, fitted_nodes(dataset, 0)) == (of_several_classes if several else of_one_class)(
        scores[valid], labels[valid]
    )
    assert told.read == len(valid)


def test_of_many_nodes_some_are_taken(dataset, scores, monkeypatch):
    monkeypatch.setattr(class_scores, "FITTED", 20 * scores.shape[1])
    told = [Told(dataset, scores) for _ in range(3)]
    first, again, other = (calibrated(dataset, each, fitted_nodes(dataset, seed)) for each, seed in zip(told, (0, 0, 1)))
    assert [each.read for each in told] == [20] * 3
    assert first == again != other


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_left_to_who_measures_them(dataset, scores, wrong):
    scores[dataset.node_split("valid")[0], 0] = wrong
    assert calibrated(dataset, Told(dataset, scores), fitted_nodes(dataset, 0)) == UNFITTED


def figures(run):
    with closing(open_checkpoint(run, None)) as found:
        told = classify_split(found.dataset, open_classifier(found), found.config, "test", found.run.path, found.table)
        with class_probabilities(found, found.dataset.node_split("test")) as classified:
            parts = [*classified]
    answers, chances = (np.concatenate([getattr(part, name) for part in parts]) for name in ("answers", "probabilities"))
    return told, answers, chances


SETTINGS = ["task=node_classification", "model.encoder=gcn", "model.layers=[8]", "storage.capacity=2", "training.epochs=4"]


def test_a_run_that_sees_a_quarter_of_the_links(dataset, labels, tmp_path):
    """The same model: its classes are in the same order, its probabilities nearer to the truth, and more answers right."""
    runs = {}
    for value in ("true", "false"):
        train_run(dataset.path, tmp_path / value, load(sets=[*SETTINGS, f"evaluation.calibrated={value}"]))
        runs[value] = figures(tmp_path / value)
    (told, answers, chances), (without, plain, plain_chances) = runs["true"], runs["false"]
    assert told["log_loss"] < without["log_loss"]
    truth = labels[dataset.node_split("test")]
    if labels.ndim == 1:
        np.testing.assert_array_equal(answers, plain)
        assert told["accuracy"] == without["accuracy"]
        assert told["log_loss"] == pytest.approx(-np.log(chances[np.arange(len(truth)), truth]).mean(), rel=1e-4)
        return
    np.testing.assert_array_equal(plain, plain_chances >= 0.5)
    assert chances[answers].min() >= chances[~answers].max()
    assert (told["roc_auc"], told["average_precision"]) == (without["roc_auc"], without["average_precision"])
    assert told["micro_f1"] > without["micro_f1"]
    assert told["micro_f1"] == pytest.approx(2 * (answers & (truth == 1)).sum() / (answers.sum() + truth.sum()))


def test_a_run_from_before_there_was_a_choice_goes_by_its_scores(cli, several, tmp_path):
    train(cli, several, tmp_path / "run", "evaluation.calibrated=false", "training.epochs=1")
    told = ml.evaluate_run(tmp_path / "run")
    forget(tmp_path / "run", "calibrated")
    assert ml.evaluate_run(tmp_path / "run") == told


@pytest.mark.parametrize("options", [("--train-nodes", "train"), ("--train-nodes", "train", "--test-nodes", "test")])
def test_without_validation_nodes_nodes_are_classified_by_scores_alone(cli, tmp_path, capfd, options):
    rng = np.random.default_rng(0)
    for name, values in (("edges", rng.integers(60, size=(300, 2))), ("y", np.arange(60) % 3)):
        np.save(tmp_path / f"{name}.npy", values)
    for name, nodes in (("train", range(20)), ("test", range(30, 50))):
        np.save(tmp_path / f"{name}.npy", np.array(nodes))
    told = [tmp_path / f"{each}.npy" if each in ("train", "test") else each for each in options]
    data, run = tmp_path / "data", tmp_path / "run"
    assert (
        cli("preprocess", tmp_path / "edges.npy", "--labels", tmp_path / "y.npy", *told, "--output", data, "--adjacency", "in")
        == 0
    )
    assert cli("train", data, "--run", run, "--set", "training.epochs=2") == 0
    assert cli("predict", run) == 0
    assert cli("export", run, "--output", tmp_path / "out") == 0
    capfd.readouterr()
    if "test" in options:
        assert cli("eval", run, "--json") == 0
        assert json.loads(capfd.readouterr().out)["count"] == 20
    else:
        assert cli("eval", run) == 2
        assert "no node split 'test'" in capfd.readouterr().err
