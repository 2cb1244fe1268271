"""Runs in several lanes: they follow from the seed, go on anywhere, and learn."""

import json

import pytest
import torch
from link_runs import amounts_to, stopped_twice
from open_parts import ENCODER, LINKS

from marius_lite.config.load import load
from marius_lite.estimate import plan_run
from marius_lite.graph.dataset import Dataset
from marius_lite.train.lanes import LaneBatch, LanesTrainer, Turn
from marius_lite.train.run import resume_run, train_run

LANES = [*LINKS, "scale.ranks=2", "training.batch_size=20", "checkpoint.every_minutes=null"]
SETS = [each for setting in LANES for each in ("--set", setting)]


@pytest.fixture(scope="module")
def eight(surrounded, cli, tmp_path_factory):
    """`surrounded` in 8 partitions, so that the two groups of a lane are more than it has resident."""
    folder = tmp_path_factory.mktemp("eight") / "dataset"
    assert cli("repartition", surrounded, "--output", folder, "--partitions", "8") == 0
    return folder


@pytest.mark.parametrize(
    ("encoder", "capacity"),
    [
        ([], 4),
        (ENCODER[:2], 2),
        pytest.param([], 2, marks=pytest.mark.slow),
        pytest.param(ENCODER[:2], 4, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_stopped_and_goes_on_comes_to_the_same(capacity, encoder, eight, cli, monkeypatch, tmp_path):
    sets = [*SETS, *(each for setting in [*encoder, f"storage.capacity={capacity}"] for each in ("--set", setting))]
    assert cli("train", eight, "--run", tmp_path / "whole", *sets) == 0
    stopped_twice(cli, monkeypatch, tmp_path / "stopped", eight, *sets)
    assert amounts_to(tmp_path / "stopped") == amounts_to(tmp_path / "whole")


def test_a_run_whose_relations_step_seldom_goes_on_to_the_same(eight, cli, monkeypatch, tmp_path):
    sets = [*SETS, "--set", "scale.relations_every=3"]
    assert cli("train", eight, "--run", tmp_path / "whole", *sets) == 0
    stopped_twice(cli, monkeypatch, tmp_path / "stopped", eight, *sets)
    assert amounts_to(tmp_path / "stopped") == amounts_to(tmp_path / "whole")
    assert cli("train", eight, "--run", tmp_path / "often", *SETS) == 0
    (told, weights, _), (others, changed, _) = amounts_to(tmp_path / "often"), amounts_to(tmp_path / "whole")
    assert [line[:4] for line in told] != [line[:4] for line in others], "lanes train several batches one after another"
    assert sorted(line[:4] for line in told) == sorted(line[:4] for line in others)
    assert weights != changed


@pytest.mark.parametrize("every", [1, 3])
def test_every_edge_is_trained_once_an_epoch_and_the_loss_falls(every, tiny_dataset, tmp_path):
    train_run(tiny_dataset, tmp_path / "run", load(sets=[*LANES, "training.epochs=6", f"scale.relations_every={every}"]))
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    edges = Dataset.open(tiny_dataset).edges("train").total
    epochs = [line for line in lines if line["kind"] == "epoch"]
    batches = [line for line in lines if line["kind"] == "batch"]
    for epoch in epochs:
        trained = sum(line["edges"] for line in batches if line["epoch"] == epoch["epoch"])
        assert trained == epoch["edges"] == edges
    assert epochs[-1]["loss"] < 0.9 * epochs[0]["loss"]


@pytest.mark.parametrize("capacity", [2, 4])
def test_a_plan_moves_what_a_run_moves(capacity, eight, tmp_path):
    config = load(sets=[*LANES, f"storage.capacity={capacity}", "evaluation.max_edges=50"])
    planned = plan_run(eight, config)
    partition = planned["start"]["rows_written"] // planned["partitions"]
    train_run(eight, tmp_path / "run", config)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    machines = [line["machine"] for line in lines if line["kind"] == "epoch"]
    for said, machine in zip((planned["first_epoch"], planned["later_epoch"]), machines, strict=True):
        assert machine["loads"] * partition == said["rows_read"]
        assert machine["writes"] * partition == said["rows_written"]


def test_a_schedule_is_that_of_every_lane(eight, tmp_path):
    schedule = ["optimizer.schedule.name=linear", "optimizer.schedule.warmup=0.5"]
    with_it = train_run(eight, tmp_path / "a", load(sets=[*LANES, *schedule]))
    assert with_it["epochs"] == 2
    seen = []

    class Seen(LanesTrainer):
        def _set_rates_for(self, before, edges):
            rates = super()._set_rates_for(before, edges)
            seen.append({each.rate for lane in self._lanes for each in lane.parts.rates})
            return rates

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("marius_lite.train.run.LanesTrainer", Seen)
        train_run(eight, tmp_path / "b", load(sets=[*LANES, *schedule]))
    assert all(len(rates) == 1 for rates in seen)
    assert len({rate for rates in seen for rate in rates}) > 2


def test_a_finished_run_trains_further(tiny_dataset, tmp_path):
    train_run(tiny_dataset, tmp_path / "short", load(sets=LANES))
    resume_run(tmp_path / "short", sets=["training.epochs=3"])
    train_run(tiny_dataset, tmp_path / "whole", load(sets=[*LANES, "training.epochs=3"]))
    assert amounts_to(tmp_path / "short")[1:] == amounts_to(tmp_path / "whole")[1:]


def test_a_turn_is_what_its_numbers_say():
    batches = [LaneBatch(3, 70000, 12, 10**7 + 1, 0.1 + 0.2), LaneBatch(3, 70000, 13, 5, 0.7)]
    turn = Turn(batches, torch.tensor([1.0, -2.5]), 15, True)
    read = Turn.read(turn.vector(4), 3, 4)
    assert (read.batches, read.signum, read.due) == (batches, 15, True)
    assert torch.equal(read.learned, turn.learned)
    assert len(read.learned) == len(turn.learned)
    assert Turn.read(Turn([], turn.learned, 0, False).vector(1), 3, 1).batches == []
