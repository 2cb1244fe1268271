"""How long an epoch's products take is said before it begins."""

import logging

import pytest

from marius_lite.config.load import load
from marius_lite.estimate import plan_run
from marius_lite.graph.dataset import Dataset
from marius_lite.tasks import epoch_products as module
from marius_lite.tasks.epoch_products import epoch_products, long_epochs
from marius_lite.tasks.resolved import resolved
from marius_lite.train.run import train_run

SETS = ["model.dim=8", "training.threads=2", "negatives.count=30", "training.epochs=1"]


@pytest.fixture
def timed(monkeypatch):
    """Pretend that ways were timed: one thread makes so many GFLOP/s."""
    return lambda gflops: monkeypatch.setattr(module, "scoring_rates", lambda *_: {"torch": gflops, "vectors": gflops / 2})


@pytest.mark.parametrize(
    ("sets", "compared"),
    [
        ([], 2 * 30),
        (["negatives.count=all"], 2 * 300),
        (["negatives.count=all", "model.decoder=complex", "model.reciprocal=true", "loss.relation_weight=0.5"], 2 * 300 + 2 * 3),
    ],
)
def test_each_pair_is_multiplied_three_times(tiny_dataset, timed, sets, compared):
    dataset = Dataset.open(tiny_dataset)
    config, _ = resolved(dataset, load(sets=[*SETS, "training.scoring=torch", *sets]))
    timed(3)
    found = epoch_products(dataset, config)
    nodes, relations = dataset.partitioning.partitions * dataset.partitioning.rows, dataset.manifest.relations
    assert (nodes, relations) == (300, 3)
    assert found.operations == 6 * 8 * compared * dataset.manifest.edges["train"]
    assert found.seconds == pytest.approx(found.operations / 6e9)


def test_a_way_too_slow_to_tell_is_not_told(tiny_dataset, timed, cli, monkeypatch, capfd):
    """Rates are whole GFLOP/s, so that of an emulated processor may be 0."""
    timed(0)
    monkeypatch.setattr("marius_lite.estimate.scoring_rates", lambda *_: {"torch": 0})
    assert "products" not in plan_run(tiny_dataset, load(sets=SETS))
    assert cli("plan", tiny_dataset) == 0
    assert "GFLOP/s of a thread: torch 0" in capfd.readouterr().out


def test_nothing_is_said_of_what_was_not_timed(tiny_dataset):
    dataset = Dataset.open(tiny_dataset)
    config, _ = resolved(dataset, load(sets=SETS))
    assert epoch_products(dataset, config) is None
    assert long_epochs(dataset, config) == []
    assert "products" not in plan_run(tiny_dataset, load(sets=SETS))


@pytest.mark.parametrize(("count", "advice"), [("30", "fewer negatives"), ("all", "--config preset:kg")])
def test_long_epochs_are_said_when_a_run_is_planned_and_when_it_begins(tiny_dataset, tmp_path, timed, caplog, count, advice):
    timed(1e-6)
    config = load(sets=[*SETS, f"negatives.count={count}"])
    assert any("minutes at the" in line and advice in line for line in plan_run(tiny_dataset, config)["remarks"])
    with caplog.at_level(logging.INFO):
        train_run(tiny_dataset, tmp_path / "run", config)
    assert advice in caplog.text
    timed(100)
    assert not any("minutes at the" in line for line in plan_run(tiny_dataset, config)["remarks"])
