"""A task is a file and a line: one made outside of the package is planned, trained, resumed, evaluated and exported."""

import json

import numpy as np
import pytest
import toy_task
import zarr

import marius_lite as ml
from marius_lite.config.load import load
from marius_lite.errors import UserError

SETTINGS = [
    "task=toy",
    "model.dim=6",
    "training.epochs=3",
    "training.batch_size=100",
    "training.threads=1",
    "optimizer.dense.lr=0.01",
    "checkpoint.every_minutes=null",
    "evaluation.every_epochs=1",
]


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    toy_task.register(monkeypatch)


def amounts_to(run):
    place = (run / "checkpoints" / "latest").resolve()
    return zarr.open(place / "nodes", mode="r")[:], (place / "dense.safetensors").read_bytes()


@pytest.mark.parametrize("capacity", [2, 4])
def test_it_trains_and_is_resumed_to_the_same_bits(tiny_dataset, tmp_path, capacity):
    sets = [*SETTINGS, f"storage.capacity={capacity}"]
    assert ml.plan_run(tiny_dataset, load(sets=sets))["first_epoch"]["edges_read"] > 0
    ml.train_run(tiny_dataset, tmp_path / "whole", load(sets=sets))
    ml.train_run(tiny_dataset, tmp_path / "parts", load(sets=[*sets, "training.epochs=1"]))
    ml.resume_run(tmp_path / "parts", None, ["training.epochs=3"])
    for whole, parts in zip(amounts_to(tmp_path / "whole"), amounts_to(tmp_path / "parts")):
        np.testing.assert_array_equal(whole, parts)
    lines = [json.loads(line) for line in (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if line["kind"] == "epoch"]
    assert losses[-1] < losses[0]
    assert [line["kind"] for line in lines].count("evaluation") == 3


def test_its_checkpoints_are_evaluated_and_exported(tiny_dataset, tmp_path):
    ml.train_run(tiny_dataset, tmp_path / "run", load(sets=[*SETTINGS, "training.epochs=1"]))
    assert ml.evaluate_run(tmp_path / "run", "test")["distance"] == 0.0
    assert ml.export_run(tmp_path / "run", tmp_path / "out", "npy")["task"] == "toy"


def test_its_settings_are_checked_as_those_of_the_others(tiny_dataset):
    with pytest.raises(UserError, match=r"`training.metric` is mrr, but an evaluation of toy tells distance"):
        load(sets=[*SETTINGS, "training.metric=mrr"])
    with pytest.raises(UserError, match=r"`task` is 'poetry': Input should be 'link_prediction', 'node_classification' or 'toy'"):
        load(sets=["task=poetry"])
