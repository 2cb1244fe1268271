"""Nodes are classified in memory and out of core, resumed to the same bits, planned as they run, and refused with the reason."""

import json

import numpy as np
import pytest
import torch
import zarr
from community_graph import arguments
from node_runs import amounts_to, lines, options, require_usable, train_in_parts
from safetensors.torch import load_file
from stopped_runs import stops_after

from marius_lite.errors import UserError
from marius_lite.predict.links import predict_links

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")


@pytest.mark.parametrize("encoder", ["sage", "gcn", "gat", "rgcn"])
def test_every_encoder_learns_the_communities(cli, communities, tmp_path, capfd, encoder):
    assert cli("train", communities, "--run", tmp_path / "run", *options(f"model.encoder={encoder}")) == 0
    capfd.readouterr()
    assert cli("eval", tmp_path / "run", "--json") == 0
    result = json.loads(capfd.readouterr().out)
    assert {"split", "accuracy", "macro_f1", "count"} <= set(result)
    assert result["count"] == 300
    assert result["accuracy"] > 0.75  # the most frequent class: 0.3; features alone: about 0.5


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_features_of_any_type_are_trained_on(cli, communities, tmp_path, capfd, dtype):
    made = (*arguments(communities.parent), "--output", tmp_path / "dataset", "--partitions", "8", "--feature-dtype", dtype)
    assert cli("preprocess", *made) == 0
    assert cli("train", tmp_path / "dataset", "--run", tmp_path / "run", *options()) == 0
    capfd.readouterr()
    assert cli("eval", tmp_path / "run", "--json") == 0
    assert json.loads(capfd.readouterr().out)["accuracy"] > 0.75


@pytest.mark.parametrize("inputs", ["features", "embeddings", "both"])
@pytest.mark.parametrize("capacity", [1, 3])
def test_stopped_and_resumed_it_has_the_same_bits(cli, communities, tmp_path, inputs, capacity, monkeypatch):
    more = [f"model.inputs={inputs}", f"storage.capacity={capacity}", "model.dim=8", "model.dropout=0.3", "training.epochs=4"]
    assert cli("train", communities, "--run", tmp_path / "whole", *options(*more)) == 0
    with stops_after(monkeypatch, 2, 5, 9):
        assert cli("train", communities, "--run", tmp_path / "parts", *options(*more)) == 143
        assert [cli("resume", tmp_path / "parts") for _ in range(3)] == [143, 143, 0]
    assert amounts_to(tmp_path / "parts") == amounts_to(tmp_path / "whole")


@pytest.mark.parametrize("encoder", ["sage", "gcn"])
@pytest.mark.parametrize("more", [["storage.capacity=1"], ["sampling.scope=exact", "sampling.lists=disk", "storage.capacity=2"]])
def test_numbers_of_neighbours_are_seen_after_a_stop_too(cli, communities, tmp_path, capfd, encoder, more, monkeypatch):
    given = [*more, f"model.encoder={encoder}", "model.degree_unit=6", "training.epochs=4", "evaluation.every_epochs=2"]
    train_in_parts(cli, communities, tmp_path, given, monkeypatch)
    require_usable(cli, tmp_path / "whole", tmp_path, capfd)
    assert cli("train", communities, "--run", tmp_path / "unseen", *options(*given, "model.degree_unit=0")) == 0
    assert amounts_to(tmp_path / "unseen")[0] != amounts_to(tmp_path / "whole")[0]
    capfd.readouterr()
    other = ("--from", tmp_path / "whole", "--set", "model.degree_unit=2")
    assert cli("train", communities, "--run", tmp_path / "next", *other) == 2
    assert "`model.degree_unit` is 2.0" in capfd.readouterr().err
    assert not (tmp_path / "next").exists()


@pytest.mark.parametrize("encoder", ["sage", "gcn", "rgcn"])
@pytest.mark.parametrize("more", [["storage.capacity=1"], ["sampling.scope=exact", "sampling.lists=disk", "storage.capacity=2"]])
def test_so_are_those_at_either_end(cli, communities, tmp_path, capfd, encoder, more, monkeypatch):
    ends = ["model.directions=both", "model.degrees_apart=true", "model.degree_unit=6"]
    given = [*more, *ends, f"model.encoder={encoder}", "training.epochs=4", "evaluation.every_epochs=2"]
    train_in_parts(cli, communities, tmp_path, given, monkeypatch)
    require_usable(cli, tmp_path / "whole", tmp_path, capfd)


def test_out_of_core_each_training_node_is_trained_once_an_epoch(cli, communities, tmp_path):
    run = tmp_path / "run"
    assert cli("train", communities, "--run", run, *options("storage.capacity=1")) == 0
    assert [line["edges"] for line in lines(run, "epoch")] == [120] * 8
    steps = {(line["epoch"], line["step"]) for line in lines(run, "batch")}
    assert steps == {(epoch, step) for epoch in range(8) for step in (0, 1)}  # two partitions of training nodes, one at a time
    assert all(line["machine"]["neighbours_not_resident"] > 0 for line in lines(run, "epoch"))


@pytest.mark.parametrize("more", [["storage.capacity=1"], ["storage.capacity=3"], ["model.inputs=both", "storage.capacity=3"]])
def test_bytes_read_are_those_planned(cli, communities, tmp_path, capfd, more):
    assert cli("plan", communities, *options(*more), "--json") == 0
    plan = json.loads(capfd.readouterr().out)
    assert cli("train", communities, "--run", tmp_path / "run", *options(*more)) == 0
    first, second = (line["machine"]["bytes_read"] for line in lines(tmp_path / "run", "epoch")[:2])
    assert first == pytest.approx(plan["first_epoch"]["rows_read"], abs=8 * 4096)  # whole blocks
    assert plan["first_epoch"]["rows_read"] > 0
    assert second <= max(first, plan["later_epoch"]["rows_read"] * 2)


def test_plan_says_what_share_of_neighbours_is_invisible(cli, communities, tmp_path, capfd):
    shares = {}
    for capacity in (2, 8):
        capfd.readouterr()
        assert cli("plan", communities, *options(f"storage.capacity={capacity}"), "--json") == 0
        shares[capacity] = json.loads(capfd.readouterr().out)["neighbours_not_resident"]
    assert shares[8] == 0
    assert cli("train", communities, "--run", tmp_path / "run", *options("storage.capacity=2", "sampling.fanouts=[-1,-1]")) == 0
    epochs = [line["machine"] for line in lines(tmp_path / "run", "epoch")]
    seen = sum(e["neighbours_not_resident"] for e in epochs) / sum(e["neighbours"] for e in epochs)
    assert seen == pytest.approx(shares[2], abs=0.05)


def test_in_memory_one_thread_or_two_are_the_same_batches(cli, communities, tmp_path):
    for threads in (1, 2):
        assert cli("train", communities, "--run", tmp_path / str(threads), *options(f"training.threads={threads}")) == 0
    one, two = (lines(tmp_path / str(threads), "batch") for threads in (1, 2))
    np.testing.assert_allclose([a["loss"] for a in one], [b["loss"] for b in two], rtol=1e-4)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["model.encoder=none"], "`model.encoder` is none: choose sage"),
        (["sampling.fanouts=[5]"], "`sampling.fanouts` has 1 numbers, but `model.layers` makes 2 layers"),
        (["loss.name=softmax"], "`loss.name` is softmax, but `task` is node_classification"),
        (["training.replay=0.5"], "`training.replay` is 0.5, but `task` is node_classification"),
        (["storage.capacity=9"], "the dataset has 8 partitions"),
        (["storage.memory=10kB"], "`storage.memory` is 10.00 KB, but one resident partition"),
        (["optimizer.dense.weight_decay=[0.1]"], "must be one number, or one for each of the 2 layers"),
        (
            ["model.encoder=torch_geometric.nn:MLP", "optimizer.dense.weight_decay=[0.1,0]", "evaluation.every_epochs=0"],
            "`optimizer.dense.weight_decay` has a number for each layer, but `model.encoder` torch_geometric.nn:MLP",
        ),
        (["model.encoder=nowhere.to:Be"], "nowhere"),
        (["model.degree_unit=3", "model.encoder=torch_geometric.nn:MLP"], "only sage, gcn, gat, rgcn see how many neighbours"),
        (["model.degree_unit=3", "training.method=layerwise"], "`model.degree_unit` is 3, but"),
        (["model.degree_unit=3", "model.degrees_apart=true"], "`model.degrees_apart` is true, but"),
        (["model.known_classes=true", "training.batch_size=120"], "a batch of 120 has all 120 training nodes"),
        (["model.known_classes=true", "training.method=layerwise"], "`model.known_classes` is true, but `task` is"),
        (["model.known_classes=true", "scale.ranks=2"], "`scale.ranks` is 2: a batch's own classes are hidden"),
        (["model.directions=both", "model.degrees_apart=true"], "`model.degree_unit` is 0 and `model.directions` both"),
        (["model.degree_unit=3", "model.reversible=2", "model.layers=[16,16]", "sampling.fanouts=[5,5,5]"], "and not reversible"),
    ],
)
def test_what_cannot_work_is_refused(cli, communities, tmp_path, capfd, more, said):
    capfd.readouterr()
    assert cli("train", communities, "--run", tmp_path / "run", *options(*more)) == 2
    told = capfd.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert said in told[0]


def test_a_batch_may_be_one_node_without_neighbours(cli, communities, tmp_path):
    """Batch normalisation has no variance of one node alone, and negatives have nothing to say about the size of batches."""
    more = ["model.norm=batch", "training.batch_size=1", "training.epochs=1", "sampling.fanouts=[0,0]", "negatives.chunks=10"]
    assert cli("train", communities, "--run", tmp_path / "run", *options(*more)) == 0


@pytest.mark.parametrize("kind", ["GraphSAGE", "GCN", "GAT"])
def test_a_model_of_torch_geometric_is_evaluated_as_its_own_forward_would(cli, communities, tmp_path, capfd, kind):
    own = f"model.encoder=torch_geometric.nn.models:{kind}"
    assert cli("train", communities, "--run", tmp_path / "run", *options(own, "evaluation.calibrated=false")) == 0
    assert [line["epoch"] for line in lines(tmp_path / "run", "evaluation")] == [3, 7]
    capfd.readouterr()
    assert cli("plan", communities, *options(own), "--json") == 0
    assert json.loads(capfd.readouterr().out)["config"]["evaluation"]["every_epochs"] == 4
    assert cli("eval", tmp_path / "run", "--json") == 0
    assert json.loads(capfd.readouterr().out)["accuracy"] > 0.75
    assert cli("export", tmp_path / "run", "--output", tmp_path / "out", "--format", "npy") == 0
    chances = np.load(tmp_path / "out" / "nodes.npy")

    from marius_lite.graph.dataset import Dataset
    from marius_lite.tasks.checkpoint import open_checkpoint
    from marius_lite.tasks.class_probabilities import open_classifier

    model, data = open_classifier(open_checkpoint(tmp_path / "run", None)), Dataset.open(communities)
    x = torch.from_numpy(np.concatenate([data.features.values(k) for k in range(8)]))
    lists = [data.adjacency.read(k) for k in range(8)]
    targets = np.repeat(np.arange(600), np.concatenate([np.diff(each.indptr) for each in lists]))
    edge_index = torch.from_numpy(np.stack([np.concatenate([each.sources for each in lists]).astype(np.int64), targets]))
    with torch.no_grad():
        np.testing.assert_allclose(chances, model.encoder.module(x, edge_index).softmax(1).numpy(), rtol=1e-4, atol=1e-5)


def test_a_module_of_the_users_own_trains_and_is_not_evaluated(cli, communities, tmp_path, capfd, monkeypatch):
    (tmp_path / "own_encoder.py").write_text(
        "from torch_geometric.nn import GraphSAGE\nclass Own(GraphSAGE):\n    def forward(self, x, edge_index):\n"
        "        return super().forward(x, edge_index)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = "model.encoder=own_encoder:Own"
    assert cli("train", communities, "--run", tmp_path / "run", *options(own)) == 2
    assert "--allow-code" in capfd.readouterr().err
    assert cli("train", communities, "--run", tmp_path / "run", *options(own), "--allow-code") == 0
    losses = [line["loss"] for line in lines(tmp_path / "run", "epoch")]
    assert losses[-1] < 0.8 * losses[0]
    assert not lines(tmp_path / "run", "evaluation")
    capfd.readouterr()
    assert cli("eval", tmp_path / "run") == 2
    assert "own_encoder.py, which is not an installed package" in capfd.readouterr().err
    monkeypatch.setenv("MARIUS_LITE_ALLOW_CODE", "1")
    assert cli("eval", tmp_path / "run") == 2
    assert "has layers of its own" in capfd.readouterr().err
    assert cli("train", communities, "--run", tmp_path / "other", *options(own, "evaluation.split=valid")) == 2
    assert not (tmp_path / "other").exists()


def test_a_dataset_without_labels_is_refused(cli, tiny_dataset, tmp_path, capfd):
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", *options()) == 2
    assert "preprocessed with --labels, --train-nodes or --node-split, --adjacency in" in capfd.readouterr().err


def test_links_cannot_be_predicted_from_it(cli, communities, tmp_path, capfd):
    assert cli("train", communities, "--run", tmp_path / "run", *options("training.epochs=1")) == 0
    (tmp_path / "q").write_text("1\t?\n")
    assert cli("predict", tmp_path / "run", "--queries", tmp_path / "q") == 2
    assert f"{tmp_path / 'q'}, line 1: '1\\t?' is no node id" in capfd.readouterr().err
    with pytest.raises(UserError, match="its task is node_classification, it has no links to predict"):
        predict_links(tmp_path / "run", tmp_path / "q")


def test_class_scores_are_exported_with_raw_ids(cli, communities, tmp_path):
    assert cli("train", communities, "--run", tmp_path / "run", *options()) == 0
    assert cli("export", tmp_path / "run", "--output", tmp_path / "out", "--format", "zarr") == 0
    scores, ids = zarr.open(tmp_path / "out", mode="r")["nodes"][:], np.load(tmp_path / "out" / "nodes_ids.npy")
    labels, test = (np.load(communities.parent / f"{name}.npy") for name in ("labels", "test"))
    assert sorted(ids.tolist()) == list(range(600))
    right = scores.argmax(1)[np.argsort(ids)][test] == labels[test]
    assert cli("eval", tmp_path / "run") == 0
    told = json.loads(next((tmp_path / "run" / "eval").glob("*.test.all.json")).read_text())
    assert right.mean() == pytest.approx(told["accuracy"])


@pytest.mark.parametrize("encoder", ["gcn", "torch_geometric.nn.models:GCN"])
def test_weights_of_each_layer_decay_as_they_are_told(cli, communities, tmp_path, encoder):
    found = {}
    for name, decay in (("first", "[5.0, 0.0]"), ("second", "[0.0, 5.0]")):
        more = [f"model.encoder={encoder}", f"optimizer.dense.weight_decay={decay}", "evaluation.every_epochs=0"]
        assert cli("train", communities, "--run", tmp_path / name, *options(*more)) == 0
        weights = load_file(tmp_path / name / "checkpoints" / "latest" / "dense.safetensors")
        layers = [
            sum(
                float(value.square().sum())
                for key, value in weights.items()
                if key.startswith("model.") and f"convs.{layer}." in key
            )
            for layer in range(2)
        ]
        found[name] = layers
    assert found["first"][0] < 0.5 * found["second"][0]
    assert found["second"][1] < 0.5 * found["first"][1]


def test_features_of_any_magnitude_are_the_same_once_normalised(cli, communities, tmp_path):
    losses = {}
    features = np.load(communities.parent / "features.npy").astype(np.float32)
    scaled = features * 2.0 ** np.random.default_rng(0).integers(-6, 7, len(features))[:, None]
    for name, values in (("as", features), ("scaled", scaled.astype(np.float32))):
        np.save(tmp_path / "x.npy", values)
        made = (*arguments(communities.parent, tmp_path / "x.npy"), "--output", tmp_path / name, "--partitions", "8")
        assert cli("preprocess", *made) == 0
        for normalize in ("true", "false"):
            run, more = tmp_path / f"{name}-{normalize}", [f"model.normalize_features={normalize}", "training.epochs=4"]
            assert cli("train", tmp_path / name, "--run", run, *options(*more)) == 0
            losses[name, normalize] = [line["loss"] for line in lines(run, "batch")], lines(run, "evaluation")[0]["accuracy"]
    assert losses["as", "true"] == losses["scaled", "true"]
    assert losses["as", "false"] != losses["scaled", "false"]


@pytest.mark.parametrize("every", [1, 3])
def test_early_stopping_ends_a_run_and_resuming_it_changes_nothing(cli, communities, tmp_path, every):
    more = [
        "training.epochs=60",
        "evaluation.every_epochs=1",
        "training.early_stopping=3",
        "optimizer.dense.lr=0.1",
        f"checkpoint.every_epochs={every}",
    ]
    run = tmp_path / "run"
    assert cli("train", communities, "--run", run, *options(*more)) == 0
    values = [line["accuracy"] for line in lines(run, "evaluation")]
    assert 4 <= len(values) < 60
    assert max(values[:-3]) >= max(values[-3:])
    assert all(max(values[: stop - 3]) < max(values[stop - 3 : stop]) for stop in range(4, len(values)))
    before = amounts_to(run)
    assert cli("resume", run) == 0
    assert amounts_to(run) == before
    assert json.loads((run / "checkpoints" / "latest" / "state.json").read_text())["cursor"]["epoch"] == len(values)
