"""Cluster batches: all partitions at once are the full batch, groups learn, and a run goes on from any checkpoint."""

import shutil

import community_graph
import pytest
from node_runs import lines, options

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

CLUSTER = ["training.method=cluster", "sampling.scope=auto", "checkpoint.keep=60", "model.dropout=0.2"]
FULL = ["sampling.fanouts=[-1,-1]", "training.batch_size=1000", "storage.capacity=8", "model.dropout=0.2"]


def train(cli, dataset, run, *more):
    assert cli("train", dataset, "--run", run, "--quiet", *options(*more)) == 0
    return bits(run)


def bits(run):
    figures = [{key: value for key, value in line.items() if key not in ("time", "machine")} for line in lines(run, "evaluation")]
    return [(line["epoch"], line["step"], line["loss"]) for line in lines(run, "batch")], figures, last(run)


def last(run):
    return (run / "checkpoints/8.0.0/dense.safetensors").read_bytes()


GCN = ["model.encoder=gcn", "model.gcn_norm=row", "model.diagonal=0.5"]


@pytest.mark.parametrize("encoder", [[], ["model.encoder=gcn"], GCN, ["model.encoder=gat"]], ids=["sage", "gcn", "row", "gat"])
def test_all_partitions_at_once_are_the_full_batch(cli, clustered, tmp_path, encoder):
    full = train(cli, clustered, tmp_path / "full", *FULL, *encoder)
    assert train(cli, clustered, tmp_path / "all", *CLUSTER, "storage.capacity=8", *encoder) == full
    assert len(full[0]) == 8  # one batch an epoch


@pytest.fixture(scope="module")
def trained(cli, clustered, tmp_path_factory):
    run = tmp_path_factory.mktemp("trained") / "run"
    train(cli, clustered, run, *CLUSTER, "storage.capacity=3", "checkpoint.every_minutes=1e-9")
    return run


def test_from_any_checkpoint_it_goes_on_to_the_same_bits(cli, trained, tmp_path):
    expected, names = bits(trained), [path.name for path in (trained / "checkpoints").glob("[0-9]*")]
    within = sorted(name for name in names if not name.endswith(".0.0"))
    assert len(within) >= 16  # between the steps of every epoch
    for name in ["5.0.0", *within[::5]]:
        copy = tmp_path / name
        shutil.copytree(trained, copy, symlinks=True)
        assert cli("resume", copy, "--checkpoint", name, "--quiet") == 0
        assert bits(copy) == expected


def test_prefetching_changes_no_bit(cli, clustered, trained, tmp_path):
    assert train(cli, clustered, tmp_path / "run", *CLUSTER, "storage.capacity=3", "storage.prefetch=false") == bits(trained)


def test_groups_learn(cli, clustered, tmp_path):
    run = tmp_path / "run"
    train(cli, clustered, run, *CLUSTER, "storage.capacity=2", "training.epochs=40", "evaluation.every_epochs=40")
    assert lines(run, "evaluation")[-1]["accuracy"] > 0.8 > 0.25 + 0.2
    for epoch in range(3):
        batches = [line for line in lines(run, "batch") if line["epoch"] == epoch]
        assert len(batches) == 4


def test_it_is_told_and_planned(cli, clustered, tmp_path, capfd):
    assert cli("train", clustered, "--run", tmp_path / "run", *options(*CLUSTER, "storage.capacity=2")) == 0
    told = capfd.readouterr().err
    assert "2 of 8 partitions resident (clusters)" in told
    assert "of the neighbours of a batch's partitions are in others" in told
    assert "sampling.scope" not in told


def test_training_nodes_in_few_partitions_are_remarked(cli, communities, tmp_path, capfd):
    assert cli("train", communities, "--run", tmp_path / "run", *options(*CLUSTER, "storage.capacity=2")) == 0
    assert "preprocess with --training-partitions all" in capfd.readouterr().err


def test_without_features_it_is_refused(cli, tmp_path, capfd):
    arguments = community_graph.write(tmp_path)
    at = arguments.index("--features")
    del arguments[at : at + 2]
    assert cli("preprocess", *arguments, "--output", tmp_path / "bare") == 0
    assert cli("train", tmp_path / "bare", "--run", tmp_path / "run", *options(*CLUSTER)) == 2
    assert "`training.method` is cluster, but nodes begin with embeddings: only features" in capfd.readouterr().err
