"""Settings for classes of nodes follow from the features and the number of training nodes, unless they are given."""

import logging

import numpy as np
import pytest

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(60, 8)).astype(np.float32)
WORDS = (RNG.random((60, 8)) < 0.2).astype(np.float32)
LARGE = 100 * np.abs(DENSE)
AGES_AND_INCOMES = DENSE * np.array([1e4, 30, 1, 1, 1, 0.1, 0.1, 0.1], np.float32)
CODED = np.concatenate([RNG.integers(5, size=(60, 3)), DENSE[:, 3:]], 1).astype(np.float32)
UNEVEN = DENSE * np.array([5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], np.float32)


@pytest.fixture
def classed(cli, tmp_path):
    def made(x, y=None, trained=20, options=(), tables=("features", "labels")):
        pairs = [(i, (i * j + 1) % len(x)) for i in range(len(x)) for j in range(1, 4)]
        np.save(tmp_path / "edges.npy", np.array(pairs))
        np.save(tmp_path / "x.npy", x)
        np.save(tmp_path / "y.npy", np.arange(len(x)) % 3 if y is None else y)
        for name, ids in (("train", range(trained)), ("valid", range(trained, trained + 10))):
            np.save(tmp_path / f"{name}.npy", np.array(ids))
        of_nodes = [
            f"--{option}={tmp_path / file}" for option, file in (("features", "x.npy"), ("labels", "y.npy")) if option in tables
        ]
        nodes = [f"--{name}-nodes={tmp_path / name}.npy" for name in ("train", "valid")]
        arguments = [
            "preprocess",
            tmp_path / "edges.npy",
            "--output",
            tmp_path / "data",
            "--overwrite",
            *of_nodes,
            *nodes,
            *options,
        ]
        assert cli(*arguments, "--partitions", "2") == 0
        return Dataset.open(tmp_path / "data")

    return made


@pytest.mark.parametrize(
    ("x", "gcn", "sage"),
    [
        (DENSE, False, False),
        (WORDS, True, False),
        (LARGE, "columns", "columns"),
        (AGES_AND_INCOMES, "columns", "columns"),
        (UNEVEN, "columns", "columns"),
    ],
    ids=["measurements", "counts", "large", "ages and incomes", "uneven"],
)
def test_features_are_normalized_where_that_helps(classed, x, gcn, sage, caplog):
    dataset = classed(x)
    with caplog.at_level(logging.INFO, "marius_lite"):
        for preset, how in (("gcn", gcn), ("sage", sage)):
            assert config_for(dataset, f"preset:{preset}").model.normalize_features == how
    assert ("because features are large (their root mean square is" in caplog.text) == (x is LARGE or x is AGES_AND_INCOMES)
    assert ("very different sizes" in caplog.text) == (x is UNEVEN)


def test_counts_and_codes_are_spoken_of(classed, caplog):
    for x, counts, codes in ((WORDS, True, False), (DENSE, False, False), (CODED, False, True)):
        caplog.clear()
        with caplog.at_level(logging.INFO, "marius_lite"):
            config_for(classed(x), "preset:gcn")
        assert ("features are counts: each node's are divided by their sum" in caplog.text) == counts
        assert ("columns of the features (from 0: 0, 1, 2) have few different whole numbers" in caplog.text) == codes


def test_what_is_given_stays(classed):
    dataset = classed(DENSE)
    assert config_for(dataset, "preset:gcn", ["model.normalize_features=true"]).model.normalize_features
    config = config_for(dataset, "preset:sage", ["training.epochs=7"])
    assert config == load("preset:sage", ["training.epochs=7"])


def test_learned_rows_alone_have_no_features_to_divide(classed):
    assert not config_for(classed(WORDS), "preset:gcn", ["model.inputs=embeddings"]).model.normalize_features


@pytest.mark.parametrize(
    ("options", "sets", "ends", "said"),
    [([], [], "both", True), ([], ["model.directions=out"], "out", False), (["--undirected"], [], "in", False)],
)
def test_without_features_both_ends_of_links_count(classed, options, sets, ends, said, caplog):
    dataset = classed(DENSE, options=options, tables=["labels"])
    with caplog.at_level(logging.INFO, "marius_lite"):
        assert config_for(dataset, "preset:gcn", sets).model.directions == ends
        assert config_for(dataset, "preset:sage").model.directions == "in"
    assert ("model.directions=both, because nodes have no features" in caplog.text) == said


@pytest.mark.parametrize(
    ("sets", "epochs"),
    [([], 1000), (["training.batch_size=5"], 250), (["training.batch_size=1"], 50), (["training.method=cluster"], 50)],
)
def test_few_training_nodes_have_more_epochs(classed, sets, epochs, caplog):
    with caplog.at_level(logging.INFO, "marius_lite"):
        dataset = classed(DENSE)
        assert config_for(dataset, "preset:sage", sets).training.epochs == epochs
        assert config_for(dataset, "preset:gcn", sets).training.epochs == max(200, epochs // 2)
    assert ("20 training nodes are" in caplog.text) == (epochs > 50)


def test_links_are_not_spoken_of(classed):
    assert config_for(classed(DENSE), "preset:sage", ["task=link_prediction"]).training.epochs == 50


@pytest.mark.parametrize(("preset", "trained", "said"), [("sage", 20, True), ("sage", 48, False), ("gcn", 20, False)])
def test_few_training_nodes_of_a_class_are_spoken_of(classed, caplog, preset, trained, said):
    with caplog.at_level(logging.INFO, "marius_lite"):
        config_for(classed(DENSE, np.arange(60) % 2, trained=trained), f"preset:{preset}")
    assert ("2 classes are few for preset:sage" in caplog.text) == said


@pytest.mark.parametrize(
    ("preset", "layers", "fanouts", "decay"),
    [
        ("gcn", "[32,16]", (-1, -1, -1), (0.0005, 0.0, 0.0)),
        ("gcn", "[]", (-1,), (0.0005,)),
        ("gcn", "{width: 8, count: 3}", (-1,) * 4, (0.0005, 0.0, 0.0, 0.0)),
        ("sage", "[32,16]", (15, 10, 10), 0.0005),
    ],
)
def test_layers_that_are_asked_for_have_the_settings_of_the_presets_layers(classed, preset, layers, fanouts, decay):
    config = config_for(classed(DENSE), f"preset:{preset}", [f"model.layers={layers}"])
    assert config.sampling.fanouts == fanouts
    assert config.optimizer.dense.weight_decay == decay


def test_ranges_of_weights_imply_the_encoder_that_tells_them_apart(classed, caplog):
    asked = ["model.weight_bounds=[1, 2]"]
    with caplog.at_level(logging.INFO, "marius_lite"):
        assert config_for(classed(DENSE), "preset:sage", asked).model.encoder == "rgcn"
    assert "model.encoder=rgcn, because it alone tells edges of one range of weights" in caplog.text
    with pytest.raises(UserError, match="rgcn tells edges apart"):
        config_for(classed(DENSE), "preset:sage", [*asked, "model.encoder=sage"])


@pytest.mark.parametrize("file", [None, "preset:gcn", "preset:sage"])
@pytest.mark.parametrize("encoder", ["sgc", "sign"])
def test_hops_without_weights_are_trained_in_the_one_way_there_is(classed, file, encoder, caplog):
    dataset, asked = classed(DENSE), [f"model.encoder={encoder}"]
    with caplog.at_level(logging.INFO, "marius_lite"):
        training = config_for(dataset, file, asked).training
    assert (training.method, training.early_stopping == 20) == ("layerwise", encoder == "sgc")
    assert config_for(dataset, file, [*asked, "training.early_stopping=3"]).training.early_stopping == 3
    assert f"training.method=layerwise, because the hops of {encoder} have no weights" in caplog.text
    with pytest.raises(UserError, match=r"training.method"):
        config_for(dataset, file, [*asked, "training.method=sampled"])
