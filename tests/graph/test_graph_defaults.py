"""What a run without a file gets follows from its dataset: its preset, and a decoder that is symmetric where the edges are."""

import contextlib
import logging
from dataclasses import replace

import numpy as np
import pytest

from marius_lite.config import presets
from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph import defaults, node_defaults
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for, linear_models
from marius_lite.tune.plan import TuneOptions, make_plan


@pytest.fixture(params=[["--undirected"], []], ids=["undirected", "directed"])
def links(request, cli, tmp_path):
    (tmp_path / "edges.tsv").write_text("".join(f"n{i}\tn{(i * j + 3) % 50}\n" for i in range(50) for j in range(2, 5)))
    assert cli("preprocess", tmp_path / "edges.tsv", "--output", tmp_path / "data", *request.param) == 0
    return Dataset.open(tmp_path / "data"), "dot" if request.param else "complex"


@pytest.mark.parametrize("file", [None, "preset:social", "preset:kg-large"])
def test_links_without_a_direction_have_a_decoder_without_one(links, file):
    dataset, expected = links
    assert config_for(dataset, file).model.decoder == expected


@pytest.mark.parametrize("given", ["model.decoder=rotate", "model={decoder: rotate}"])
def test_a_decoder_that_is_given_is_taken(links, given):
    assert config_for(links[0], None, [given]).model.decoder == "rotate"


def test_a_file_of_ones_own_is_taken_as_it_is(links, tmp_path):
    (tmp_path / "mine.yaml").write_text("model: {decoder: complex, dim: 8}\n")
    assert config_for(links[0], tmp_path / "mine.yaml").model.decoder == "complex"


def test_relations_have_directions_of_their_own(cli, tmp_path):
    (tmp_path / "edges.tsv").write_text("".join(f"n{i}\tr{i % 2}\tn{i + 1}\nn{i + 1}\tr{i % 2}\tn{i}\n" for i in range(50)))
    assert cli("preprocess", tmp_path / "edges.tsv", "--output", tmp_path / "data") == 0
    assert config_for(Dataset.open(tmp_path / "data"), None).model.decoder == "complex"


@pytest.mark.parametrize(("options", "said"), [([], "where links have no direction"), (["--undirected"], "in both directions")])
def test_what_edges_tell_of_directions_is_said(cli, tmp_path, caplog, options, said):
    upper = np.array([(i, (i + j) % 300) for i in range(300) for j in range(1, 8)])
    np.savetxt(tmp_path / "edges.tsv", upper, "%d", delimiter="\t")
    assert cli("preprocess", tmp_path / "edges.tsv", "--output", tmp_path / "data", *options) == 0
    with caplog.at_level(logging.INFO, "marius_lite"):
        config_for(Dataset.open(tmp_path / "data"), None)
    assert said in caplog.text


@pytest.mark.parametrize("item", ["task=node_classification", "model.encoder=gat", "task= node_classification"])
def test_a_setting_leaves_the_rest_of_the_preset(communities, item):
    assert config_for(Dataset.open(communities), None, [item]) == load(
        "preset:gcn", [item, "model.normalize_features=false", "training.epochs=500"]
    )


@pytest.mark.parametrize(
    ("data", "task", "preset", "suggested"),
    [
        ("communities", "link_prediction", "social", "node_classification"),
        ("surrounded", "node_classification", "sage", "link_prediction"),
    ],
)
def test_another_task_takes_the_preset_that_suits_it_and_says_why(request, caplog, data, task, preset, suggested):
    dataset = Dataset.open(request.getfixturevalue(data))
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None, [f"task={task}", "model.decoder=complex"])
    assert config == load(f"preset:{preset}", [f"task={task}"])
    assert f"settings of preset:{preset} (" in caplog.text
    assert f"`task` is {task}, though the dataset suggests {suggested}" in caplog.text


@pytest.mark.parametrize(
    ("step", "options", "task", "encoder"),
    [
        (0, [], "node_classification", "gcn"),
        (1, ["--undirected"], "node_classification", "sage"),  # to nodes of other classes
        (1, [], "node_classification", "rgcn"),
        (0, ["--split", "0.8,0.1,0.1"], "link_prediction", "none"),
    ],
    ids=["alike", "unlike", "unlike, one way", "edges split too"],
)
def test_classes_without_features(cli, tmp_path, step, options, task, encoder):
    rng = np.random.default_rng(0)
    src = np.repeat(np.arange(600), 4)
    dst = (rng.integers(150, size=len(src)) * 4 + src % 4 + step) % 600  # class: node % 4
    np.save(tmp_path / "edges.npy", np.stack([src, dst], 1))
    np.save(tmp_path / "y.npy", np.arange(600) % 4)
    given = ["--labels", tmp_path / "y.npy", "--node-split", "0.5,0.2,0.3", *options]
    assert cli("preprocess", tmp_path / "edges.npy", "--output", tmp_path / "data", *given) == 0
    config = config_for(Dataset.open(tmp_path / "data"), None)
    assert (config.task, config.model.encoder) == (task, encoder)


def test_links_through_an_encoder_have_a_preset_of_their_own_and_it_is_said(surrounded, caplog):
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(Dataset.open(surrounded), None, ["model.encoder=gcn"])
    assert config == load("preset:encoder", ["model.encoder=gcn"])
    assert "settings of preset:encoder (3 relations; 300 nodes, links through an encoder)" in caplog.text


@pytest.mark.parametrize(("preset", "biases"), [("social", True), ("kg-large", False)])
def test_settings_that_do_not_learn_popularity_say_so(links, caplog, preset, biases):
    config = config_for(links[0], f"preset:{preset}")
    assert config.model.biases == biases
    assert ("below those of popularity alone" in caplog.text) != biases


def test_where_edges_have_relations_popularity_is_not_spoken_of(tiny_dataset, caplog):
    config_for(Dataset.open(tiny_dataset), "preset:kg-large")
    assert "popularity" not in caplog.text


def classes_by_place(cli, folder, features=False):
    """Make a dataset of two rings of cliques, one for each class, without features or with some that say nothing."""
    rng = np.random.default_rng(0)
    cliques = np.arange(600) // 6
    y = (cliques >= 50).astype(int)
    inside = np.array([(a, b) for c in range(100) for a in range(6 * c, 6 * c + 6) for b in range(6 * c, a)])
    across = np.stack([np.arange(600), (np.arange(600) + 6) % 300 + 300 * y], 1)
    np.save(folder / "edges.npy", np.concatenate([inside, across]))
    np.save(folder / "y.npy", y)
    np.save(folder / "x.npy", rng.normal(size=(600, 3)).astype(np.float32))
    given = [f"--features={folder / 'x.npy'}"] if features else []
    options = ["--undirected", "--adjacency=in", f"--labels={folder / 'y.npy'}", "--node-split=0.2,0.4,0.4"]
    assert cli("preprocess", folder / "edges.npy", *given, *options, "--output", folder / "d") == 0
    return Dataset.open(folder / "d")


@pytest.mark.parametrize("features", [False, True])
def test_in_large_graphs_nodes_that_are_told_by_their_place_have_gcn_with_drawn_neighbours(
    cli, tmp_path, monkeypatch, caplog, features
):
    """GraphSAGE learns the row of each node by heart."""
    caplog.set_level(logging.INFO, "marius_lite")
    dataset = classes_by_place(cli, tmp_path, features)
    small = config_for(dataset, None)
    assert (small.model.encoder, small.sampling.fanouts) == ("gcn", (-1, -1))
    monkeypatch.setattr(presets, "FEW_NODES", 599)
    large = config_for(dataset, None)
    assert (large.model.encoder, large.sampling.fanouts) == ("gcn", (15, 10))
    assert large.model.inputs == ("embeddings" if features else small.model.inputs)
    assert "sampling.fanouts=[15, 10], because the graph has more than 599 nodes" in caplog.text
    assert config_for(dataset, None, ["model.layers=[8,8]"]).sampling.fanouts == (15, 10, 10)
    assert config_for(dataset, None, ["sampling.fanouts=[-1,4]"]).sampling.fanouts == (-1, 4)
    assert config_for(dataset, None, ["model.encoder=gat"]).sampling.fanouts == (15, 10)
    assert config_for(dataset, "preset:gcn").sampling.fanouts == (-1, -1)
    options = TuneOptions(sets=("model.inputs=embeddings",), trials=2)
    assert make_plan(dataset, options).base.sampling.fanouts == (15, 10)


def test_in_large_graphs_layers_are_fitted_over_many_hops_where_these_are_better(communities, monkeypatch):
    monkeypatch.setattr(presets, "FEW_NODES", 10)
    dataset = Dataset.open(communities)
    seen = linear_models(dataset)
    monkeypatch.setattr(defaults, "linear_models", lambda *_: replace(seen, mixed=(0.2, 0.3, 0.6, 0.9)))
    config = config_for(dataset, None)
    assert (config.model.encoder, config.model.hops, config.training.method) == ("sgc", 4, "layerwise")
    given = config_for(dataset, None, ["sampling.fanouts=[5,5]"])
    assert (given.model.encoder, given.sampling.fanouts) == ("sage", (5, 5))


@pytest.mark.parametrize(("sets", "bytes_of"), [(["storage.memory=3GB"], 3 * 10**9), ([], 7), (["storage.memory=none"], 7)])
def test_linear_models_have_the_memory_that_is_given_or_free(communities, monkeypatch, sets, bytes_of):
    monkeypatch.setattr(node_defaults, "available_memory", lambda: 7)
    taken = []
    monkeypatch.setattr(defaults, "linear_models", lambda *given: taken.append(given[-1]))
    with contextlib.suppress(UserError):
        config_for(Dataset.open(communities), None, sets)
    assert taken == [bytes_of]
