"""Link prediction through an encoder: it learns, never sees the edges it predicts, and resumes to the same bits."""

import json

import numpy as np
import pytest
from link_runs import amounts_to, stopped_twice

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

SETTINGS = [
    "model.encoder=sage",
    "model.decoder=distmult",
    "model.dim=16",
    "sampling.fanouts=[4]",
    "storage.capacity=2",
    "training.threads=1",
    "training.batch_size=100",
    "negatives.count=50",
    "negatives.chunks=1",
    "training.epochs=3",
]


def options(*more):
    return ["--config", "preset:plain", *(part for item in (*SETTINGS, *more) for part in ("--set", item))]


def test_it_learns_and_every_command_works_on_it(cli, surrounded, tmp_path, capfd):
    run = tmp_path / "run"
    assert cli("train", surrounded, "--run", run, *options("training.epochs=12", "evaluation.every_epochs=6")) == 0
    capfd.readouterr()
    assert cli("eval", run, "--json") == 0
    result = json.loads(capfd.readouterr().out)
    assert result["mrr"] > 0.06  # 300 candidates at random: 0.02
    (tmp_path / "q").write_text("node7\trel1\t?\n")
    assert cli("predict", run, "--queries", tmp_path / "q", "--topk", "3") == 0
    assert cli("export", run, "--output", tmp_path / "out", "--format", "npy") == 0
    assert np.load(tmp_path / "out" / "nodes.npy").shape == (300, 16)
    assert not list(run.glob(".vectors*"))


@pytest.mark.parametrize(
    "more", [[], ["model.inputs=both"], ["model.normalize_features=true", "model.codes={0: [0, 1], 3: [2]}"]]
)
def test_features_are_learned_from_alone_or_beside_rows(cli, featured, tmp_path, capfd, more):
    run = tmp_path / "run"
    more = ["training.epochs=12", "evaluation.every_epochs=6", "optimizer.dense.lr=0.05", "model.decoder=complex", *more]
    assert cli("train", featured, "--run", run, *options(*more)) == 0
    assert (run / "live" / "nodes").exists() == ("model.inputs=both" in more)
    capfd.readouterr()
    assert cli("eval", run, "--json") == 0
    assert json.loads(capfd.readouterr().out)["mrr"] > 0.27  # without features: 0.22
    (tmp_path / "q").write_text("node7\trel1\t?\n")
    assert cli("predict", run, "--queries", tmp_path / "q", "--topk", "3", "--json") == 0
    assert json.loads(capfd.readouterr().out)["queries"][0]["answers"][0]["id"].startswith("node")
    assert cli("export", run, "--output", tmp_path / "out", "--format", "npy") == 0
    assert np.load(tmp_path / "out" / "nodes.npy").shape == (300, 16)


def test_exported_vectors_are_the_encoders_of_the_whole_graph(cli, featured, tmp_path):
    import torch
    from torch_geometric.nn import SAGEConv

    from marius_lite.graph.dataset import Dataset
    from marius_lite.tasks.opened_links import open_run

    run = tmp_path / "run"
    assert cli("train", featured, "--run", run, *options("model.inputs=both", "model.normalize_features=true")) == 0
    opened, dataset = open_run(run, None), Dataset.open(featured)
    encoder = opened.model.encoder
    features = np.concatenate([dataset.features.values(k) for k in range(4)])
    features /= np.abs(features).sum(1, keepdims=True)
    rows = np.concatenate(
        [
            np.fromfile(path, np.float32).reshape(75, -1)
            for path in sorted((run / "checkpoints" / "latest" / "nodes" / "c").glob("*/0"))
        ]
    )[:, :16]
    lists = [dataset.adjacency.read(k) for k in range(4)]
    targets = np.repeat(np.arange(300), np.concatenate([np.diff(each.indptr) for each in lists]))
    edge_index = torch.from_numpy(np.stack([np.concatenate([each.sources for each in lists]).astype(np.int64), targets]))
    conv = SAGEConv(features.shape[1] + 16, 16)
    conv.load_state_dict(encoder.convs[0].state_dict())
    with torch.no_grad():
        expected = conv(torch.from_numpy(np.concatenate([features, rows], 1)), edge_index)
    vectors = []
    for k in range(4):
        opened.buffer.enter([k])
        vectors.append(opened.buffer.resident.view(k)[:, :16].copy())
    opened.close()
    np.testing.assert_allclose(np.concatenate(vectors), expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("inputs", "buffers"), [("features", ["features"]), ("embeddings", ["embeddings"]), ("both", ["features", "embeddings"])]
)
def test_partitions_loaded_are_those_planned(cli, featured, tmp_path, capfd, inputs, buffers):
    bytes_a_node = {"features": 16, "embeddings": 4 * (16 + 4)}  # 8 of 2 bytes; 16 numbers and row-wise Adagrad's, padded
    loads = np.zeros(2)
    for each in buffers:
        capfd.readouterr()
        assert cli("plan", featured, *options(f"model.inputs={each}"), "--json") == 0
        plan = json.loads(capfd.readouterr().out)
        loads += np.array([plan[name]["rows_read"] for name in ("first_epoch", "later_epoch")]) / (75 * bytes_a_node[each])
    assert cli("plan", featured, *options(f"model.inputs={inputs}"), "--json") == 0
    plan = json.loads(capfd.readouterr().out)
    assert plan["memory"]["slot_bytes"] == 256 * sum(bytes_a_node[each] for each in buffers)
    assert (plan["disk"]["rows"] > 0) == (inputs != "features")
    assert cli("train", featured, "--run", tmp_path / "run", *options(f"model.inputs={inputs}")) == 0
    epochs = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    loaded = [line["machine"]["loads"] for line in epochs if line["kind"] == "epoch"]
    assert [loaded[0], np.mean(loaded[1:])] == pytest.approx(loads)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["model.encoder=none", "model.inputs=features"], "without `model.encoder` the learned row is all there is"),
        (["model.inputs=embeddings", "model.normalize_features=true"], "there are no features to learn from"),
        (
            ["model.encoder=none", "optimizer.dense.weight_decay=[0.1]"],
            "has a number for each layer, but `model.encoder` is none",
        ),
    ],
)
def test_settings_that_contradict_are_refused(cli, featured, tmp_path, capfd, more, said):
    assert cli("train", featured, "--run", tmp_path / "run", *options(*more)) == 2
    assert said in capfd.readouterr().err


def test_features_that_are_not_there_are_refused(cli, surrounded, tmp_path, capfd):
    assert cli("train", surrounded, "--run", tmp_path / "run", *options("model.inputs=both")) == 2
    assert "the dataset has no features: preprocess with --features" in capfd.readouterr().err


@pytest.mark.parametrize("inputs", ["features", "embeddings", "both"])
def test_stopped_and_resumed_it_has_the_same_bits(cli, featured, tmp_path, monkeypatch, inputs):
    training = [featured, *options(f"model.inputs={inputs}")]
    assert cli("train", *training, "--run", tmp_path / "whole") == 0
    stopped_twice(cli, monkeypatch, tmp_path / "parts", *training)
    assert amounts_to(tmp_path / "parts") == amounts_to(tmp_path / "whole")


def test_a_batch_never_samples_its_own_edges(cli, surrounded, tmp_path, monkeypatch):
    from marius_lite.tasks.link_prediction import LinkLearning

    prepare, checked = LinkLearning.prepare, []

    def watched(self, edges):
        found = prepare(self, edges)
        own = set(zip(self._rows.node_ids(edges.src).tolist(), self._rows.node_ids(edges.dst).tolist()))
        own |= {(dst, src) for src, dst in own}
        around = found.sampled.places.sample
        targets = around.nodes[np.repeat(np.arange(len(around.indptr) - 1), np.diff(around.indptr))]
        passed = set(zip(around.nodes[around.indices].tolist(), targets.tolist()))
        checked.append(len(passed))
        assert not passed & own
        return found

    monkeypatch.setattr(LinkLearning, "prepare", watched)
    assert cli("train", surrounded, "--run", tmp_path / "run", *options("training.epochs=1")) == 0
    assert sum(checked) > 1000


def test_without_adjacency_it_is_refused(cli, tiny_dataset, tmp_path, capfd):
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", *options()) == 2
    assert "preprocessed with --adjacency in" in capfd.readouterr().err
