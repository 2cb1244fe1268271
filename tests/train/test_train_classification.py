"""Figures of node classification are those of the exported probabilities; a metric chooses the best; classes may be weighed."""

import json

import community_graph
import numpy as np
import pyarrow.parquet as pq
import pytest

import marius_lite as ml

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

SETTINGS = [
    "task=node_classification",
    "model.encoder=sage",
    "model.layers=[16]",
    "sampling.fanouts=[5,5]",
    "training.threads=1",
    "training.batch_size=40",
    "optimizer.dense.name=adam",
    "optimizer.dense.lr=0.02",
    "training.epochs=4",
    "evaluation.every_epochs=1",
]


def options(*more):
    return ["--config", "preset:plain", *(part for item in (*SETTINGS, *more) for part in ("--set", item))]


@pytest.fixture(scope="module")
def run(cli, communities, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes") / "run"
    assert cli("train", communities, "--run", folder, *options("training.metric=log_loss")) == 0
    return folder


@pytest.fixture
def exported(cli, run, communities, tmp_path):
    """(raw ids, splits, said classes, probabilities, true classes) of every node."""
    assert cli("export", run, "--output", tmp_path / "out") == 0
    table = pq.read_table(tmp_path / "out" / "nodes.parquet")
    assert table.column_names == ["raw_id", "split", "class", "probabilities"]
    raw = table["raw_id"].to_numpy()
    return (
        raw,
        np.array(table["split"].to_pylist()),
        table["class"].to_numpy(),
        np.stack(table["probabilities"].to_numpy()),
        np.load(communities.parent / "labels.npy")[raw],
    )


def test_figures_are_those_of_the_probabilities(printed, run, exported):
    result = json.loads(printed("eval", run, "--json"))
    _, split, said, chances, true = exported
    np.testing.assert_allclose(chances.sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(said, chances.argmax(1))
    chances, said, true = (each[split == "test"] for each in (chances, said, true))
    assert result["count"] == len(true) == 300
    assert result["accuracy"] == result["micro_f1"] == pytest.approx((said == true).mean())
    assert result["log_loss"] == pytest.approx(-np.log(chances[np.arange(300), true]).mean(), rel=1e-4)
    assert result["confusion"] == [[int(((true == a) & (said == b)).sum()) for b in range(4)] for a in range(4)]
    shown = printed("eval", run).splitlines()[-4:]
    assert [list(map(int, line.split())) for line in shown] == [[c, *row] for c, row in enumerate(result["confusion"])]
    areas = []
    for c in range(4):
        above = chances[true == c, c][:, None] - chances[true != c, c][None]
        areas.append((above > 0).mean() + (above == 0).mean() / 2)
    assert result["roc_auc"] == pytest.approx(np.mean(areas), abs=1e-4)
    assert 0.8 < result["average_precision"] <= 1


def test_every_format_and_predict_say_the_same(printed, cli, run, exported, tmp_path):
    raw, split, said, chances, _ = exported
    assert cli("export", run, "--output", tmp_path / "npy", "--format", "npy") == 0
    np.testing.assert_array_equal(np.load(tmp_path / "npy" / "nodes_ids.npy"), raw)
    np.testing.assert_array_equal(np.load(tmp_path / "npy" / "nodes.npy"), chances.astype(np.float32))
    np.testing.assert_array_equal(np.load(tmp_path / "npy" / "nodes_class.npy"), said)
    told = json.loads((tmp_path / "npy" / "export.json").read_text())
    assert (told["classes"], told["splits"]) == ([0, 1, 2, 3], ["none", "train", "valid", "test"])
    assert [told["splits"][code] for code in np.load(tmp_path / "npy" / "nodes_split.npy")] == split.tolist()

    lines = [line.split("\t") for line in printed("predict", run).splitlines()]
    assert lines[0] == ["id", "split", "class", "0", "1", "2", "3"]
    assert [line[:3] for line in lines[1:]] == [[str(r), s, str(c)] for r, s, c in zip(raw, split, said)]
    (tmp_path / "some").write_text("17\n\n400\n17\n")
    found = json.loads(printed("predict", run, "--queries", tmp_path / "some", "--json"))["nodes"]
    assert found == json.loads(json.dumps(list(ml.predict_nodes(run, [17, 400]))))  # JSON's keys are strings
    assert {node["id"] for node in found} == {17, 400}
    for node in found:
        at = raw.tolist().index(node["id"])
        assert (node["split"], node["class"]) == (split[at], said[at])
        np.testing.assert_allclose(list(node["probabilities"].values()), chances[at], rtol=1e-6)


def test_classes_go_by_their_names_where_there_are_any(cli, communities, tmp_path):
    names = ["law", "art", "math", "sport"]
    arguments = community_graph.write(tmp_path)
    np.save(tmp_path / "labels.npy", np.array(names)[np.load(tmp_path / "labels.npy")])
    assert cli("preprocess", *arguments, "--output", tmp_path / "dataset", "--partitions", "8") == 0
    run = tmp_path / "run"
    assert cli("train", tmp_path / "dataset", "--run", run, *options("training.epochs=1")) == 0
    (node,) = ml.predict_nodes(run, [17])
    assert list(node["probabilities"]) == sorted(names)
    assert node["class"] == max(node["probabilities"], key=node["probabilities"].get)
    ml.export_run(run, tmp_path / "out")
    assert set(pq.read_table(tmp_path / "out" / "nodes.parquet")["class"].to_pylist()) <= set(names)
    assert ml.evaluate_run(run)["class_names"] == sorted(names)


def test_what_is_asked_wrongly_is_told(cli, run, tmp_path, capfd):
    (tmp_path / "some").write_text("17\n9999\n")
    capfd.readouterr()
    assert cli("predict", run, "--queries", tmp_path / "some") == 2
    assert f"{tmp_path / 'some'}, line 2: the dataset has no node '9999'" in capfd.readouterr().err


def test_the_best_checkpoint_has_the_least_log_loss(run, printed):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = {f"{line['epoch'] + 1}.0.0": line["log_loss"] for line in lines if line["kind"] == "evaluation"}
    assert len(losses) == 4
    assert (run / "checkpoints" / "best").readlink().name == min(losses, key=losses.get)
    assert min(losses.values()) < losses["1.0.0"]
    told = json.loads(printed("info", run, "--json"))
    assert (told["task"], told["encoder"], told["layers"]) == ("node_classification", "sage", [16])
    assert not {"decoder", "dim"} & set(told)


def test_a_weighty_class_is_said_more_often(cli, communities, tmp_path, exported):
    said = exported[2]
    assert cli("train", communities, "--run", tmp_path / "run", *options("loss.class_weights=[1,1,50,1]")) == 0
    weighed = [node["class"] for node in ml.predict_nodes(tmp_path / "run")]
    assert weighed.count(2) > 1.2 * (said == 2).sum()
