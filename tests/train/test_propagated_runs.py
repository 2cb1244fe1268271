"""Runs of SGC and SIGN: they learn, with any memory, from any checkpoint, and are evaluated, predicted and exported."""

import shutil

import pytest
from node_runs import bits, lines, options, require_usable, train

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

SETTINGS = [
    "training.method=layerwise",
    "training.epochs=12",
    "sampling.scope=auto",
    "sampling.fanouts=auto",
    "model.dropout=0.2",
    "checkpoint.keep=60",
]
SGC = ["model.encoder=sgc", "model.hops=2", "model.layers=[]"]
SIGN = ["model.encoder=sign", "model.hops=3", "model.layers=[16]", "model.gcn_norm=mean", "model.norm=batch"]
ALONE = ["model.encoder=sgc", "model.hops=0", "model.layers=[16]"]
FEW, ALL = "storage.capacity=2", "storage.capacity=8"


@pytest.fixture(scope="module", params=[SGC, SIGN, ALONE], ids=["sgc", "sign", "alone"])
def trained(request, cli, communities, tmp_path_factory):
    run = tmp_path_factory.mktemp("propagated") / "run"
    train(cli, communities, run, *SETTINGS, *request.param, ALL, "checkpoint.every_minutes=1e-9", "optimizer.dense.lr=0.1")
    return run, request.param


def test_it_learns(trained):
    run, settings = trained
    accuracy = lines(run, "evaluation")[-1]["accuracy"]
    assert accuracy > (0.3 if settings is ALONE else 0.8)


def test_with_few_rows_in_memory_it_has_the_same_bits(cli, communities, trained, tmp_path):
    run, settings = trained
    few = train(cli, communities, tmp_path / "few", *SETTINGS, *settings, FEW, "optimizer.dense.lr=0.1")
    assert few[1:] == bits(run)[1:]
    assert few[0]["12.0.0"] == bits(run)[0]["12.0.0"]
    assert not [path for path in (tmp_path / "few").iterdir() if path.name.startswith(".")]


def test_from_any_checkpoint_it_goes_on_to_the_same_bits(cli, trained, tmp_path):
    run, _ = trained
    expected = bits(run)
    names = sorted(expected[0], key=lambda name: tuple(map(int, name.split("."))))
    assert len(names) > 12
    for name in ["8.0.0", names[2 * len(names) // 3]]:
        copy = tmp_path / name
        shutil.copytree(run, copy, symlinks=True)
        assert cli("resume", copy, "--checkpoint", name, "--quiet") == 0
        assert bits(copy) == expected


def test_it_is_evaluated_predicted_and_exported(cli, trained, tmp_path, capfd):
    require_usable(cli, trained[0], tmp_path, capfd)


def test_what_is_said_names_the_hops(cli, communities, tmp_path, capfd):
    assert cli("train", communities, "--run", tmp_path / "run", *options(*SETTINGS, *SIGN, "training.epochs=1")) == 0
    told = capfd.readouterr().err
    assert "all nodes take from their neighbours, 3 times" in told
    assert "trained on 48 numbers of each node and its neighbours" in told
    assert "layer 1 of" not in told
    assert cli("train", communities, "--run", tmp_path / "alone", *options(*SETTINGS, *ALONE, "training.epochs=1")) == 0
    told = capfd.readouterr().err
    assert "nodes are seen by themselves" in told
    assert cli("plan", communities, *options(*SETTINGS, *ALONE)) == 0
    assert "trained on 12 numbers of each node\n" in told
