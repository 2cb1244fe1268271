"""An encoder is shown where nodes are, and logarithms of columns with long tails, where linear models say so; else features."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

import marius_lite as ml
from marius_lite.encode.normalization import normalization
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.feature_sample import logarithms, sampled
from marius_lite.graph.first_hops import WalkedRows
from marius_lite.graph.hops import tried
from marius_lite.graph.linear_shares import Tried
from marius_lite.graph.linear_test import SHRINKAGES
from marius_lite.graph.node_inputs import by_counts

NODES, CLASSES, GROUPS = 1200, 4, 40


@pytest.fixture
def stored(cli, tmp_path):
    """Write nodes in groups, each group of one of four classes. ``features``: from the classes and a generator."""

    def write(features, options=("--undirected",), linked=0.8):
        rng = np.random.default_rng(0)
        group = rng.permutation(NODES) % GROUPS
        y = rng.permutation(GROUPS)[group] % CLASSES
        members = [np.flatnonzero(group == each) for each in range(GROUPS)]
        src = rng.integers(NODES, size=5 * NODES)
        dst = [rng.choice(members[group[s]]) if rng.random() < linked else rng.integers(NODES) for s in src]
        np.save(tmp_path / "edges.npy", np.column_stack([src, dst]))
        np.save(tmp_path / "x.npy", features(y, rng).astype(np.float32))
        np.save(tmp_path / "y.npy", y)
        order, told = rng.permutation(NODES), [f"--features={tmp_path / 'x.npy'}", f"--labels={tmp_path / 'y.npy'}"]
        for name, nodes in {"train": order[:400], "valid": order[400:800], "test": order[800:]}.items():
            np.save(tmp_path / f"{name}.npy", nodes)
            told.append(f"--{name}-nodes={tmp_path / name}.npy")
        assert cli("preprocess", tmp_path / "edges.npy", *told, *options, "--output", tmp_path / "data") == 0
        return Dataset.open(tmp_path / "data")

    return write


def noise(y, rng):
    return rng.normal(size=(len(y), 4))


def clear_features(y, rng):
    return 4 * np.eye(CLASSES)[y] + rng.normal(size=(len(y), CLASSES))


def codes(y, rng):
    """A column of codes, of which five belong to each class, in any order; and one of ages."""
    kinds = rng.permutation(20)[y + CLASSES * rng.integers(5, size=len(y))]
    return np.stack([rng.normal(size=len(y)), kinds, rng.integers(18, 60, len(y))], 1)


def amounts(y, rng):
    """Amounts whose logarithms tell the class."""
    return np.exp(2 * rng.normal(size=(len(y), 8)) + 4 * np.eye(CLASSES, 8)[y]) * 10.0 ** np.arange(-3, 5)


@pytest.mark.parametrize("undirected", [True, False])
def test_where_only_places_tell_classes_rows_are_learned(cli, stored, tmp_path, caplog, undirected):
    dataset = stored(noise, ("--undirected",) if undirected else ())
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert (config.model.encoder, config.model.inputs) == ("gcn", "embeddings")
    assert config.model.directions == ("in" if undirected else "both")
    assert "model.inputs=embeddings, because linear models tell" in caplog.text
    for asked in ("model.inputs=features", "model.normalize_features=false", "training.method=sampled"):
        assert config_for(dataset, None, [asked]).model.inputs in ("auto", "features"), asked
    if not undirected:  # the choice is another one, what follows from it is not
        return
    folder = dataset.path
    for name, sets in {"places": [], "features": ["--set", "model.inputs=features"]}.items():
        assert cli("train", folder, "--run", tmp_path / name, "--set", "training.epochs=40", *sets) == 0
    by_places, by_features = (ml.evaluate_run(tmp_path / name, "test")["accuracy"] for name in ("places", "features"))
    assert by_places > by_features + 0.2


def test_where_features_tell_classes_they_are_taken(stored):
    assert config_for(stored(clear_features), None).model.inputs == "auto"


def test_by_how_much_places_must_be_better():
    seen = Tried(0.3, 0.5, (0.4,) * 4, None, 500, placed=WalkedRows(0.8, 0.82, "in"))
    assert seen.better_inputs == "embeddings"
    assert seen.unlike is None
    assert replace(seen, placed=WalkedRows(0.8, 0.9, "in")).better_inputs == "both"
    assert replace(seen, bent_mixed=0.78).better_inputs is None
    assert replace(seen, bent_apart=0.7, related=0.79).better_inputs is None
    assert replace(seen, several=True).better_inputs is None
    assert replace(seen, placed=None).better_inputs is None
    assert replace(seen, asked=3).better_inputs is None
    several_classes = Tried(0.2, 0.3, (0.2,) * 4, None, 500, placed=WalkedRows(0.44, 0.36, "both"))
    assert several_classes.better_inputs == "embeddings", "half more right answers, though four in five wrong ones stay"
    assert replace(several_classes, rare=True).better_inputs is None, "a ROC AUC counts no answers"
    hardly_alone = replace(seen, placed=WalkedRows(0.58, 0.62, "in"))
    assert hardly_alone.better_inputs == "both", "neither alone is far better, together they are"


def test_what_mixes_nodes_with_neighbours_must_be_surely_better():
    seen = Tried(0.5, 0.52, (0.56,) * 4, None, 500)
    assert seen.unlike is None
    assert replace(seen, mixed=(0.6,) * 4).unlike is False
    assert replace(seen, bent_apart=0.65).unlike is True


def test_logarithms_are_taken_of_amounts(stored, caplog):
    dataset = stored(amounts, linked=0.0)
    sample = sampled(dataset.features)
    assert sample.tailed
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert config.model.normalize_features == "logs"
    assert "model.normalize_features=logs, because columns of the features (from 0: 0, 1, 2, 3" in caplog.text
    assert config_for(dataset, None, ["model.normalize_features=columns"]).model.normalize_features == "columns"
    assert config_for(dataset, "preset:gcn").model.normalize_features == "columns"


@pytest.mark.parametrize("features", [noise, clear_features])
def test_columns_without_tails_are_taken_as_they_are(stored, features):
    dataset = stored(features)
    assert not sampled(dataset.features).tailed
    assert config_for(dataset, None).model.normalize_features is False


@pytest.mark.parametrize("beside", [0, 3])
def test_a_network_sees_the_logarithms_that_a_sample_is_of(stored, beside):
    dataset = stored(lambda y, rng: np.concatenate([amounts(y, rng), noise(y, rng), np.full((len(y), 1), 7.0)], 1))
    config = config_for(dataset, "preset:gcn", ["model.normalize_features=logs"])
    x = np.concatenate([dataset.features.values(k) for k in range(dataset.partitioning.partitions)])
    given = torch.from_numpy(np.concatenate([x, np.ones((len(x), beside), np.float32)], 1))
    kept = given.clone()
    seen = normalization(dataset, config)(given).numpy()
    assert torch.equal(given, kept)
    units = sampled(dataset.features).units
    assert (units > 0).tolist() == [True] * 8 + [False] * 5
    expected = logarithms(x.astype(np.float64), units)
    deviations = np.append(expected[:, :-1].std(0), 1)
    np.testing.assert_allclose(seen[:, :13], (expected - expected.mean(0)) / deviations, atol=2e-4)
    assert (seen[:, 13:] == 1).all()


def test_logarithms_keep_order_signs_and_zeros():
    values = np.array([[-1e30, 5.0], [-3, 5], [0, 5], [2, 5], [1e30, 5]])
    found = logarithms(values, np.array([2, 0], np.float32))
    assert (found[:, 1] == 5).all()
    assert (np.diff(found[:, 0]) > 0).all()
    assert found[2, 0] == 0
    np.testing.assert_allclose(found[:, 0], np.sign(values[:, 0]) * np.log1p(np.abs(values[:, 0]) / 2))


def test_a_number_for_each_code_is_shown_where_it_says_more(cli, stored, tmp_path, caplog):
    dataset = stored(codes, linked=0.0)
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert dict(config.model.codes) == {1: tuple(range(20))}
    assert (
        "model.codes, because linear models are clearly better where the whole numbers of columns of the features (from 0: 1)"
        in (caplog.text)
    )
    assert "have few different whole numbers" not in caplog.text
    for none in ("model.codes={}", "model.inputs=embeddings"):
        assert config_for(dataset, None, [none]).model.codes == {}
    for name, sets in {"codes": [], "amounts": ["--set", "model.codes={}"]}.items():
        assert cli("train", dataset.path, "--run", tmp_path / name, "--set", "training.epochs=30", *sets) == 0
    with_codes, without = (ml.evaluate_run(tmp_path / name, "test")["accuracy"] for name in ("codes", "amounts"))
    assert with_codes > max(0.85, without + 0.2)


@pytest.mark.parametrize(
    "features", [lambda y, rng: np.stack([y + rng.normal(size=len(y)), rng.integers(18, 60, len(y))], 1), noise]
)
def test_whole_numbers_that_say_no_more_are_amounts(stored, features, caplog):
    dataset = stored(features)
    with caplog.at_level(logging.INFO, "marius_lite"):
        assert config_for(dataset, None).model.codes == {}
    assert "whole numbers" not in caplog.text


def test_where_nothing_is_tried_a_line_speaks_of_codes(stored, caplog):
    dataset = stored(codes)
    with caplog.at_level(logging.INFO, "marius_lite"):
        assert config_for(dataset, "preset:sage").model.codes == {}
    assert "columns of the features (from 0: 1, 2) have few different whole numbers: if these are codes of kinds" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, "marius_lite"):
        config_for(dataset, "preset:sage", ["model.codes={1: [3]}"])
    assert "whole numbers" not in caplog.text


@pytest.mark.parametrize(
    ("shrinkage", "chosen", "given", "so"),
    [
        (1.0, [], {}, True),
        (SHRINKAGES[-1], [], {}, False),
        (None, [], {}, False),
        (1.0, ["model.normalize_features=columns"], {}, False),
        (1.0, ["model.inputs=embeddings"], {}, False),
        (1.0, [], {"model": {"normalize_features": True}}, False),
    ],
)
def test_counts_are_divided_where_strong_shrinkage_is_best(shrinkage, chosen, given, so):
    seen = Tried(0.5, 0.5, (0.5,) * 4, None, 500, shrinkage=shrinkage)
    assert by_counts("preset:gcn", given, seen, chosen) == (["model.normalize_features=columns"] if so else [])
    assert by_counts("preset:sage", given, seen, chosen) == []


@pytest.mark.parametrize("counts", [True, False])
def test_what_shrinkage_is_best_is_asked_of_counts_alone(stored, counts):
    seen = tried(stored(lambda y, rng: rng.poisson(0.1 + (rng.random((CLASSES, 60)) < 0.3)[y]) - (not counts)), ["in"])
    assert (seen.shrinkage in SHRINKAGES) == counts
