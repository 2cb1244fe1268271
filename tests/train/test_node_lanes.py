"""Node classification in several lanes: as one lane, in any number of processes, from any place where it was stopped."""

import community_graph
import pytest
import torch
from node_runs import SETTINGS, bits, lines, options, train
from safetensors.torch import load_file
from stopped_runs import stops_after

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.estimate import plan_run
from marius_lite.graph.dataset import Dataset

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

LANES = ("scale.ranks=4", "sampling.scope=auto", "training.epochs=2", "evaluation.every_epochs=1")
PACKED = (*LANES, "sampling.scope=exact", "storage.capacity=2")
SGD = (
    "sampling.scope=auto",
    "optimizer.dense.name=sgd",
    "optimizer.dense.lr=0.5",
    "training.epochs=2",
    "evaluation.every_epochs=1",
)


def weights(run):
    return load_file(run / "checkpoints" / "latest" / "dense.safetensors")


def test_lanes_learn_what_one_lane_learns(cli, communities, tmp_path):
    """They have the batches of one lane. Where all neighbours are taken only sums of floats differ."""
    for ranks in (1, 4):
        train(cli, communities, tmp_path / str(ranks), *SGD, "sampling.fanouts=[-1,-1]", f"scale.ranks={ranks}")
    one, four = (weights(tmp_path / ranks) for ranks in ("1", "4"))
    for name, values in one.items():
        torch.testing.assert_close(four[name], values, rtol=1e-4, atol=1e-6)
    sizes = [sum(line["edges"] for line in lines(tmp_path / ranks, "batch")) for ranks in ("1", "4")]
    assert sizes[0] == sizes[1] == sum(line["edges"] for line in lines(tmp_path / "1", "epoch"))
    losses = [[line["loss"] for line in lines(tmp_path / ranks, "epoch")] for ranks in ("1", "4")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    assert losses[0][1] < losses[0][0]


def test_rows_in_packs_give_the_bits_of_rows_in_memory(cli, communities, tmp_path):
    expected = train(cli, communities, tmp_path / "memory", *LANES)
    assert train(cli, communities, tmp_path / "packed", *PACKED) == expected
    kept = ("sampling.refresh_epochs=2", "storage.packs_disk=1GB")
    expected = train(cli, communities, tmp_path / "kept-memory", *LANES, *kept)
    assert train(cli, communities, tmp_path / "kept", *PACKED, *kept) == expected


@pytest.mark.parametrize("settings", [LANES, PACKED], ids=["memory", "packed"])
def test_a_run_that_is_stopped_goes_on_in_other_processes_to_the_same(
    settings, cli, communities, forked_processes, monkeypatch, tmp_path
):
    settings = (*settings, "model.norm=batch", "model.dropout=0.2", "checkpoint.keep=20")
    expected = train(cli, communities, tmp_path / "whole", *settings)
    with stops_after(monkeypatch, 6, 17):
        assert cli("train", communities, "--run", tmp_path / "run", "--quiet", *options(*settings)) == 143
        assert cli("resume", tmp_path / "run", "--quiet") == 143
    assert cli("resume", tmp_path / "run", "--processes", "2", "--quiet") == 0
    weights, losses, figures = bits(tmp_path / "run")
    assert (losses, figures) == expected[1:]
    assert expected[0].items() <= weights.items()


def test_fewer_nodes_than_lanes(cli, tmp_path):
    """The last batch has a node for some lanes only, and all lanes go on to the next epoch."""
    arguments = community_graph.write(tmp_path)
    assert cli("preprocess", *arguments, "--output", tmp_path / "dataset", "--partitions", "2") == 0
    nodes = Dataset.open(tmp_path / "dataset").node_counts["train"]
    size = (nodes - 2) // 4 * 4
    found = train(cli, tmp_path / "dataset", tmp_path / "run", *LANES, f"training.batch_size={size}", "training.epochs=1")
    assert [line["edges"] for line in lines(tmp_path / "run", "batch")][4:] == [1] * (nodes - size)
    assert found[0]


def test_a_plan_says_what_a_process_reads(cli, communities, tmp_path):
    config = load(sets=[*SETTINGS, *LANES])
    plan = plan_run(communities, config)
    assert (plan["steps"], plan["swaps"], plan["capacity"]) == (4, 0, 8)
    train(cli, communities, tmp_path / "run", *LANES)
    partition = plan["first_epoch"]["rows_read"] // plan["partitions"]
    loads = [line["machine"]["loads"] for line in lines(tmp_path / "run", "epoch")]
    assert [each * partition for each in loads] == [plan["first_epoch"]["rows_read"], plan["later_epoch"]["rows_read"]]
    assert loads == [8, 0]


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["sampling.scope=resident", "storage.capacity=2"], "lanes see all nodes"),
        (["model.inputs=both"], "nodes have learned rows"),
        (["training.method=cluster"], "`training.method` is cluster"),
        (["storage.memory=1MB"], "`scale.ranks` is 2, whose lanes see all nodes, but"),
    ],
)
def test_what_lanes_of_nodes_do_not_have(sets, told, communities):
    settings = [setting for setting in SETTINGS if not setting.startswith("sampling")]
    with pytest.raises(UserError, match=told):
        plan_run(communities, load(sets=[*settings, "scale.ranks=2", *sets]))
