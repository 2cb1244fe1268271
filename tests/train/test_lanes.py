"""Runs in several lanes: they follow from the seed, go on anywhere, and learn."""

import json

import pytest
import torch
from link_runs import amounts_to, stopped_twice
from open_parts import ENCODER, LINKS

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.train.lanes import LaneBatch, Turn
from marius_lite.train.run import resume_run, train_run

LANES = [*LINKS, "scale.ranks=2", "training.batch_size=20", "checkpoint.every_minutes=null"]
SETS = [each for setting in LANES for each in ("--set", setting)]


@pytest.fixture(scope="module")
def eight(surrounded, cli, tmp_path_factory):
    """`surrounded` in 8 partitions, so that the two groups of a lane are more than it has resident."""
    folder = tmp_path_factory.mktemp("eight") / "dataset"
    assert cli("repartition", surrounded, "--output", folder, "--partitions", "8") == 0
    return folder


@pytest.mark.parametrize("capacity", [2, 4])
@pytest.mark.parametrize("encoder", [[], ENCODER[:2]])
def test_a_run_that_is_stopped_and_goes_on_comes_to_the_same(capacity, encoder, eight, cli, monkeypatch, tmp_path):
    sets = [*SETS, *(each for setting in [*encoder, f"storage.capacity={capacity}"] for each in ("--set", setting))]
    assert cli("train", eight, "--run", tmp_path / "whole", *sets) == 0
    stopped_twice(cli, monkeypatch, tmp_path / "stopped", eight, *sets)
    assert amounts_to(tmp_path / "stopped") == amounts_to(tmp_path / "whole")


def test_every_edge_is_trained_once_an_epoch_and_the_loss_falls(tiny_dataset, tmp_path):
    train_run(tiny_dataset, tmp_path / "run", load(sets=[*LANES, "training.epochs=6"]))
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    edges = Dataset.open(tiny_dataset).edges("train").total
    epochs = [line for line in lines if line["kind"] == "epoch"]
    batches = [line for line in lines if line["kind"] == "batch"]
    for epoch in epochs:
        trained = sum(line["edges"] for line in batches if line["epoch"] == epoch["epoch"])
        assert trained == epoch["edges"] == edges
    assert epochs[-1]["loss"] < 0.9 * epochs[0]["loss"]


def test_a_finished_run_trains_further(tiny_dataset, tmp_path):
    train_run(tiny_dataset, tmp_path / "short", load(sets=LANES))
    resume_run(tmp_path / "short", sets=["training.epochs=3"])
    train_run(tiny_dataset, tmp_path / "whole", load(sets=[*LANES, "training.epochs=3"]))
    assert amounts_to(tmp_path / "short")[1:] == amounts_to(tmp_path / "whole")[1:]


def test_a_turn_is_what_its_numbers_say():
    turn = Turn(LaneBatch(3, 70000, 12, 10**7 + 1), 0.1 + 0.2, torch.tensor([1.0, -2.5]), 15, True)
    read = Turn.read(turn.vector(), 3)
    assert (read.batch, read.loss, read.signum, read.due) == (turn.batch, turn.loss, 15, True)
    assert torch.equal(read.learned, turn.learned)
    assert Turn.read(Turn.of(None, turn.learned, None, False).vector(), 3).batch is None
