"""Layers trained one after another: what is learned, from little memory, from any checkpoint, and for all that reads a run."""

import json
import shutil
import signal
import time

import community_graph
import numpy as np
import pytest
from node_runs import lines, options

from marius_lite.checkpoint.dense import load_weights, read_dense
from marius_lite.checkpoint.state import read_state
from marius_lite.config.load import load
from marius_lite.encode.layerwise import Layers
from marius_lite.encode.vectors import vectors
from marius_lite.graph import Dataset
from marius_lite.predict.nodes import predict_nodes
from marius_lite.tasks.node_classification import NodeLearning
from marius_lite.tasks.node_model import make_classifier
from marius_lite.tasks.resolved import resolved
from marius_lite.train.stages import TrainingStage, stages

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

LAYERWISE = [
    "training.method=layerwise",
    "training.epochs=8",
    "training.layer_epochs=3",
    "sampling.scope=auto",
    "checkpoint.keep=60",
]
FEW, ALL = "storage.capacity=2", "storage.capacity=8"


def train(cli, dataset, run, *more):
    assert cli("train", dataset, "--run", run, "--quiet", *options(*LAYERWISE, *more)) == 0
    return bits(run)


def bits(run):
    weights = {path.name: (path / "dense.safetensors").read_bytes() for path in run.glob("checkpoints/[0-9]*")}
    figures = [{key: value for key, value in line.items() if key not in ("time", "machine")} for line in lines(run, "evaluation")]
    return weights, [(line["epoch"], line["batch"], line["loss"]) for line in lines(run, "batch")], figures


@pytest.fixture(scope="module", params=["gcn", "sage"])
def trained(request, cli, communities, tmp_path_factory):
    run = tmp_path_factory.mktemp(request.param) / "run"
    more = [f"model.encoder={request.param}", "model.dropout=0.2", "checkpoint.every_minutes=1e-9"]
    train(cli, communities, run, *more, ALL)
    return run, more


def test_without_layers_there_is_one_stage(communities, tmp_path):
    dataset = Dataset.open(communities)
    config, _ = resolved(dataset, load(sets=["task=node_classification", "model.encoder=sage"]))
    model = make_classifier(dataset, config, trains=True)
    assert list(stages(dataset, config, model, tmp_path, None)) == [TrainingStage(dataset, config, model, config.training.epochs)]


def test_it_learns_and_its_last_checkpoint_is_an_ordinary_one(cli, communities, tmp_path):
    run = tmp_path / "run"
    train(cli, communities, run, "training.epochs=40", "training.layer_epochs=20", ALL)
    figures = {line["epoch"]: line["accuracy"] for line in lines(run, "evaluation")}
    assert figures[39] > 0.8 > 0.25 + 0.2
    dataset = Dataset.open(communities)
    config, _ = resolved(dataset, load(sets=["task=node_classification", "model.encoder=sage", "model.layers=[16]"]))
    model, saved = make_classifier(dataset, config, trains=False), run / "checkpoints" / "40.0.0"
    load_weights(model, read_dense(saved, read_state(saved).dense), saved)
    nodes, right = dataset.node_split("valid"), 0
    with vectors(dataset, config, model.eval().encoder, None, tmp_path) as scores:
        for k in range(8):
            own = nodes[nodes // dataset.partitioning.rows == k] - dataset.partitioning.range(k).start
            right += (scores.read_rows(k, own)[:, :4].argmax(1) == dataset.labels.read(k)[own]).sum()
    assert right / len(nodes) == pytest.approx(figures[39])


def test_with_few_rows_in_memory_it_has_the_same_bits(cli, communities, trained, tmp_path):
    run, more = trained
    assert train(cli, communities, tmp_path / "few", *more, FEW) == bits(run)
    assert not [path for path in (tmp_path / "few").iterdir() if path.name.startswith(".")]


def test_from_any_checkpoint_it_goes_on_to_the_same_bits(cli, trained, tmp_path):
    run, _ = trained
    expected = bits(run)
    names = sorted(expected[0], key=lambda name: tuple(map(int, name.split("."))))
    ends = [name for name in names if name.endswith(".0.0")]
    within = [name for name in names if not name.endswith(".0.0")]
    assert {"3.0.0", "8.0.0"} <= {*ends}
    assert {name[0] for name in within} >= {"0", "3", "7"}
    for name in [*ends[1:], *within[:: len(within) // 4]]:
        copy = tmp_path / name
        shutil.copytree(run, copy, symlinks=True)
        assert cli("resume", copy, "--checkpoint", name, "--quiet") == 0
        assert bits(copy)[1:] == expected[1:]
        assert (copy / "checkpoints/8.0.0/dense.safetensors").read_bytes() == expected[0]["8.0.0"]


def test_checkpoints_of_every_layer_are_evaluated_predicted_and_exported(cli, communities, trained, tmp_path, capfd):
    run, _ = trained
    heads = 0
    for line in lines(run, "evaluation"):
        name = f"{line['epoch'] + 1}.0.0"
        capfd.readouterr()
        assert cli("eval", run, "--checkpoint", name, "--split", "valid", "--json") == 0
        figures = json.loads(capfd.readouterr().out)
        assert figures["accuracy"] == pytest.approx(line["accuracy"])
        assert figures["log_loss"] == pytest.approx(line["log_loss"], rel=1e-4)
        tensors = read_dense(run / "checkpoints" / name, read_state(run / "checkpoints" / name).dense)
        heads += any("head" in key for key in tensors)
    assert heads  # the first layer was measured too
    assert cli("export", run, "--checkpoint", "3.0.0", "--format", "npy", "--output", tmp_path / "out") == 0
    assert np.load(tmp_path / "out/nodes.npy").shape == (community_graph.NODES, community_graph.CLASSES)
    assert len([*predict_nodes(run, [1, 2, 3], checkpoint="3.0.0")]) == 3


def test_a_layer_begins_with_figures_and_rates_of_its_own(cli, communities, tmp_path):
    run = tmp_path / "run"
    plateaus = ["optimizer.schedule.name=plateau", "optimizer.schedule.patience=1", "evaluation.every_epochs=1"]
    train(cli, communities, run, *plateaus, "optimizer.dense.lr=1e-9", "training.early_stopping=2", "training.epochs=20", ALL)
    states = {path.name: read_state(path) for path in run.glob("checkpoints/[0-9]*")}
    assert max(states["3.0.0"].drops, states["3.0.0"].since) > 0  # nothing is learned with such a rate
    assert states["4.0.0"].since <= 1
    assert states["4.0.0"].drops == 0
    assert max(state.cursor.epoch for state in states.values()) < 20  # the last layer stops early, none before it


def test_it_is_told_and_planned(cli, communities, tmp_path, capfd):
    assert cli("train", communities, "--run", tmp_path / "run", *options(*LAYERWISE, FEW)) == 0
    told = capfd.readouterr().err
    assert "layer 1 of 2: trained on 24 numbers" in told
    assert "layer 2 of 2: trained on 32 numbers" in told
    assert "not resident" not in told
    assert cli("plan", communities, "--json", *options(*LAYERWISE, FEW)) == 0
    plan = json.loads(capfd.readouterr().out)
    assert plan["memory"]["slot_bytes"] == 4 * 32 * 256  # the widest rows: 16 numbers twice, of a slot of whole pages
    assert plan["config"]["sampling"]["fanouts"] == [-1, -1]
    assert plan["disk"]["layers"] == 75 * 8 * 4 * (
        24 + 16 + 32
    )  # of layer 2: what layer 1 gathered, its results, what it gathers
    assert plan["first_epoch"]["edges_read"] == 0
    assert "neighbours_not_resident" not in plan


def test_without_features_it_is_refused(cli, communities, tmp_path, capfd):
    arguments = community_graph.write(tmp_path)
    at = arguments.index("--features")
    bare = [*arguments[:at], *arguments[at + 2 :], "--output", tmp_path / "bare", "--adjacency", "in"]
    assert cli("preprocess", *bare) == 0
    capfd.readouterr()
    assert cli("train", tmp_path / "bare", "--run", tmp_path / "run", *options(*LAYERWISE)) == 2
    assert "the dataset has no features to gather" in capfd.readouterr().err


def test_a_signal_before_the_first_batch_of_a_layer_leaves_the_checkpoint_of_the_layer_before(
    cli, communities, trained, tmp_path, monkeypatch
):
    (run, more), whole = trained, NodeLearning.open
    saved = {name: (run / "checkpoints" / name / "dense.safetensors").read_bytes() for name in ("3.0.0", "8.0.0")}

    def opened(self, epoch, window, following):
        if epoch == 3:
            signal.raise_signal(signal.SIGTERM)
            time.sleep(0.1)  # it is noted by a thread
        return whole(self, epoch, window, following)

    with monkeypatch.context() as patch:
        patch.setattr(NodeLearning, "open", opened)
        again = tmp_path / "run"
        arguments = ["train", communities, "--run", again, "--quiet", *options(*LAYERWISE, *more, FEW)]
        assert cli(*arguments) == 128 + signal.SIGTERM
    assert (again / "checkpoints/3.0.0/dense.safetensors").read_bytes() == saved["3.0.0"]
    assert cli("eval", again, "--split", "valid") == 0
    assert cli("resume", again, "--quiet") == 0
    assert (again / "checkpoints/8.0.0/dense.safetensors").read_bytes() == saved["8.0.0"]


def test_a_signal_while_a_layer_is_gathered_stops_there(cli, communities, trained, tmp_path, monkeypatch, capfd):
    (run, more), whole = trained, Layers.at

    def at(self, layer, check):
        if layer == 1:
            signal.raise_signal(signal.SIGTERM)
            time.sleep(0.1)
        return whole(self, layer, check)

    with monkeypatch.context() as patch:
        patch.setattr(Layers, "at", at)
        again = tmp_path / "run"
        assert cli("train", communities, "--run", again, *options(*LAYERWISE, *more, ALL)) == 128 + signal.SIGTERM
    assert "stopped before a layer: `marius-lite resume" in capfd.readouterr().err
    assert not [path for path in again.iterdir() if path.name.startswith(".")]
    assert cli("resume", again, "--quiet") == 0
    assert bits(again)[1:] == bits(run)[1:]
