"""Nodes with any number of classes are learned, resumed to the same bits, evaluated, predicted and exported."""

import json

import community_graph
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import zarr
from node_runs import lines, options
from stopped_runs import stops_after

import marius_lite as ml
from marius_lite.nn.classifier import binary_cross_entropy

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")


@pytest.fixture(scope="module")
def run(cli, several, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert cli("train", several, "--run", folder, *options()) == 0
    return folder


@pytest.mark.parametrize(
    "more", [[], ["storage.capacity=2", "training.epochs=24"], ["model.encoder=gcn", "model.inputs=both", "model.dim=8"]]
)
def test_it_learns_the_communities(several, cli, tmp_path, more):
    assert cli("train", several, "--run", tmp_path / "run", *options(*more)) == 0
    result = ml.evaluate_run(tmp_path / "run")
    assert result["count"] == 300
    assert result["micro_f1"] > 0.8  # to say the two most frequent classes of every node: 0.57
    assert result["roc_auc"] > 0.85
    assert result["per_class"]["4"] == {"f1": None, "roc_auc": None, "average_precision": None, "count": 0}


def test_figures_are_those_of_the_exported_probabilities(cli, run, several, tmp_path, printed):
    assert cli("export", run, "--output", tmp_path / "out") == 0
    table = pq.read_table(tmp_path / "out" / "nodes.parquet")
    assert table.column_names == ["raw_id", "split", "classes", "probabilities"]
    raw, split = table["raw_id"].to_numpy(), np.array(table["split"].to_pylist())
    chances = np.stack(table["probabilities"].to_numpy())
    least = min(chances[node, c] for node, classes in enumerate(table["classes"].to_pylist()) for c in classes)
    assert table["classes"].to_pylist() == [np.flatnonzero(row >= least).tolist() for row in chances]
    test = split == "test"
    true, said = np.load(several.parent / "labels.npy")[raw[test]], chances[test] >= least
    result = json.loads(printed("eval", run, "--json"))
    assert "confusion" not in result
    right = (true * said).sum(0)
    assert result["accuracy"] == pytest.approx((true == said).all(1).mean())
    assert result["micro_f1"] == pytest.approx(2 * right.sum() / (true.sum() + said.sum()))
    occurs = (true.sum(0) + said.sum(0)) > 0
    assert result["macro_f1"] == pytest.approx((2 * right / (true.sum(0) + said.sum(0)).clip(1))[occurs].mean())
    given = np.where(true == 1, chances[test], 1 - chances[test])
    assert result["log_loss"] == pytest.approx(-np.log(given).mean(), rel=1e-4)
    assert (result["classes"], list(result["per_class"])) == (int(occurs.sum()), list("01234"))
    assert "per_class" not in printed("eval", run)


def test_every_format_and_predict_say_the_same(cli, run, tmp_path, printed):
    for format in ("parquet", "npy", "zarr"):
        assert cli("export", run, "--output", tmp_path / format, "--format", format) == 0
    classes = pq.read_table(tmp_path / "parquet" / "nodes.parquet")["classes"].to_pylist()
    has = np.load(tmp_path / "npy" / "nodes_classes.npy")
    assert (has.dtype, has.shape) == (bool, (600, 5))
    assert [np.flatnonzero(row).tolist() for row in has] == classes
    np.testing.assert_array_equal(zarr.open(tmp_path / "zarr", mode="r")["nodes_classes"][:], has)
    told = [line.split("\t") for line in printed("predict", run).splitlines()]
    assert told[0] == ["id", "split", "classes", "0", "1", "2", "3", "4"]
    assert [line[2] for line in told[1:]] == [",".join(map(str, each)) for each in classes]
    (node,) = ml.predict_nodes(run, [17])
    given = [node["probabilities"][c] for c in node["classes"]]
    assert min(given, default=1) > max(chance for c, chance in node["probabilities"].items() if c not in node["classes"])
    assert set(node) == {"id", "split", "classes", "probabilities"}


def test_classes_go_by_their_names_where_there_are_any(cli, several, tmp_path, printed):
    names = ["law", "art", "math", "sport", "none"]
    arguments = community_graph.write_several(tmp_path)
    np.savez(tmp_path / "labels.npz", labels=np.load(tmp_path / "labels.npy"), class_names=np.array(names))
    arguments[arguments.index(tmp_path / "labels.npy")] = tmp_path / "labels.npz"
    assert cli("preprocess", *arguments, "--output", tmp_path / "dataset", "--partitions", "8") == 0
    run = tmp_path / "run"
    assert cli("train", tmp_path / "dataset", "--run", run, *options("training.epochs=4")) == 0
    assert list(ml.evaluate_run(run)["per_class"]) == names
    told = {node["id"]: node["classes"] for node in ml.predict_nodes(run)}
    assert {name for each in told.values() for name in each} >= {"law", "math"}
    assert all(set(each) <= set(names) for each in told.values())
    ml.export_run(run, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "nodes.parquet")
    assert dict(zip(table["raw_id"].to_pylist(), table["classes"].to_pylist())) == told


def test_the_best_checkpoint_has_the_highest_micro_f1_or_what_is_asked(cli, several, tmp_path, printed):
    for metric in ("auto", "average_precision"):
        run = tmp_path / metric
        assert cli("train", several, "--run", run, *options(f"training.metric={metric}", "evaluation.every_epochs=2")) == 0
        name = "micro_f1" if metric == "auto" else metric
        values = {f"{line['epoch'] + 1}.0.0": line[name] for line in lines(run, "evaluation")}
        assert len(values) == 4
        assert (run / "checkpoints" / "best").readlink().name == max(values, key=values.get)
    assert "multi_label" in printed("info", several)


def test_stopped_and_resumed_it_has_the_same_bits(cli, several, tmp_path, monkeypatch):
    more = ["storage.capacity=1", "model.dropout=0.3", "training.epochs=4", "loss.class_weights=balanced"]
    assert cli("train", several, "--run", tmp_path / "whole", *options(*more)) == 0
    with stops_after(monkeypatch, 2, 5, 9):
        assert cli("train", several, "--run", tmp_path / "parts", *options(*more)) == 143
        assert [cli("resume", tmp_path / "parts") for _ in range(3)] == [143, 143, 0]
    for folder in ("whole", "parts"):
        assert len(lines(tmp_path / folder, "batch")) == 4 * 4
    whole, parts = (
        [
            [(line["epoch"], line["batch"], line["loss"]) for line in lines(tmp_path / folder, "batch")],
            [line["log_loss"] for line in lines(tmp_path / folder, "evaluation")],
            (tmp_path / folder / "checkpoints/latest/dense.safetensors").read_bytes(),
        ]
        for folder in ("whole", "parts")
    )
    assert whole == parts


def test_the_loss_is_the_mean_over_nodes_and_classes():
    scores, labels = torch.tensor([[1.0, -2, 0], [3, 0.5, -1]]), torch.tensor([[1, 0, 0], [0, 1, 1]], dtype=torch.int8)
    chances, weights = scores.sigmoid(), torch.tensor([1.0, 2, 5])
    each = labels * chances.log(), (1 - labels) * (1 - chances).log()
    torch.testing.assert_close(binary_cross_entropy(scores, labels, None), -(each[0] + each[1]).mean())
    torch.testing.assert_close(binary_cross_entropy(scores, labels.reshape(-1), weights), -(weights * each[0] + each[1]).mean())


def test_a_weighty_class_is_said_more_often(cli, several, run, tmp_path):
    def said(folder):
        return sum(3 in node["classes"] for node in ml.predict_nodes(folder))

    assert cli("train", several, "--run", tmp_path / "run", *options("loss.class_weights=[1,1,1,50,1]")) == 0
    assert said(tmp_path / "run") > 1.2 * said(run)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["loss.name=cross_entropy"], "nodes of the dataset have any number of classes: use binary_cross_entropy"),
        (["loss.class_weights=[1,2]"], "`loss.class_weights` has 2 numbers, the dataset has 5 classes"),
        (["training.metric=mrr"], "`training.metric` is mrr, but an evaluation of node_classification tells accuracy"),
    ],
)
def test_what_cannot_work_is_refused(cli, several, tmp_path, capfd, more, said):
    capfd.readouterr()
    assert cli("train", several, "--run", tmp_path / "run", *options(*more)) == 2
    told = capfd.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert said in told[0]
