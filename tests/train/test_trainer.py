"""The loop trains what its plan says, in order; a model whose numbers are none any more takes no good checkpoint with it."""

import json
import os
import threading

import numpy as np
import pytest
import torch

from marius_lite.errors import RunError
from marius_lite.sampling.windows import WindowReader
from marius_lite.train import trainer
from marius_lite.train.meter import Meter
from marius_lite.train.trainer import Trainer
from marius_lite.train.work import Work

SETTINGS = [
    "model.dim=8",
    "model.decoder=distmult",
    "training.threads=1",
    "training.batch_size=200",
    "training.epochs=3",
    "negatives.count=20",
    "negatives.chunks=1",
    "storage.capacity=2",
    "checkpoint.keep=1",
    "evaluation.every_epochs=0",
]
OPTIONS = [part for item in SETTINGS for part in ("--set", item)]


def test_batches_come_in_order_and_epochs_have_all_edges(link_run):
    lines = [json.loads(line) for line in (link_run / "metrics.jsonl").read_text().splitlines()]
    batches = [(line["epoch"], line["step"], line["batch"]) for line in lines if line["kind"] == "batch"]
    assert batches == sorted(set(batches))
    edges = [line["edges"] for line in lines if line["kind"] == "epoch"]
    assert len(edges) == 2
    assert edges == [sum(line["edges"] for line in lines if line["kind"] == "batch" and line["epoch"] == n) for n in range(2)]


@pytest.mark.parametrize("capacity", [2, 4])
def test_each_window_is_read_once_and_ahead(cli, tiny_dataset, tmp_path, monkeypatch, capacity):
    """Also the first window of the epochs behind the first."""
    asked, read, prefetch, read_window = [], [], WindowReader.prefetch, WindowReader._read

    def asks(self, epoch, window):
        asked.append((epoch, window))
        prefetch(self, epoch, window)

    def reads(self, window, epoch, buffer):
        read.append((epoch, window))
        return read_window(self, window, epoch, buffer)

    monkeypatch.setattr(WindowReader, "prefetch", asks)
    monkeypatch.setattr(WindowReader, "_read", reads)
    cli("train", tiny_dataset, "--run", tmp_path / "run", *OPTIONS, "--set", f"storage.capacity={capacity}")
    assert asked == read
    assert len(read) == len(set(read)) >= 3
    assert {epoch for epoch, _ in read} == {0, 1, 2}


def spoil_rows(work, model):
    buffer = work.rows.main
    held = next(k for k in range(4) if buffer.state(k) == "dirty")
    buffer.resident.view(held)[3, 1] = np.inf


def spoil_weights(work, model):
    with torch.no_grad():
        model.relations[0, 0] = np.nan


@pytest.mark.parametrize(
    ("spoil", "said"), [(spoil_rows, "/0: a number is not finite"), (spoil_weights, "model.relations: a number is not finite")]
)
def test_the_last_good_checkpoint_stays(cli, tiny_dataset, tmp_path, monkeypatch, capfd, spoil, said):
    run, parts, end_epoch, new = tmp_path / "run", [], Meter.end_epoch, Trainer.__init__

    def watched(self, given, state):
        parts.append(given)
        new(self, given, state)

    def spoilt(self, epoch, state):
        if epoch == 1:
            spoil(parts[0].work, parts[0].model)
        end_epoch(self, epoch, state)

    monkeypatch.setattr(Trainer, "__init__", watched)
    monkeypatch.setattr(Meter, "end_epoch", spoilt)
    assert cli("train", tiny_dataset, "--run", run, *OPTIONS) == 1
    told = capfd.readouterr().err.splitlines()[-1]
    assert said in told
    assert "the model diverged by epoch 2, step 0, batch 0 and is not saved: train anew with lower learning rates" in told
    assert sorted(os.listdir(run / "checkpoints")) == ["1.0.0", "latest"]
    assert cli("info", run, "--verify") == 0
    monkeypatch.undo()
    assert cli("resume", run) == 0
    assert cli("eval", run) == 0


def test_learning_rates_beyond_all_measure(cli, tiny_dataset, tmp_path, capfd):
    """One batch makes rows that no batch after it would find."""
    more = [
        "--config",
        "preset:plain",
        "--set",
        "optimizer.rows={name: sgd, lr: 1.0e30}",
        "--set",
        "training.batch_size=100000",
        "--set",
        "storage.capacity=4",
        "--set",
        "init.nodes.scale=1.0e+9",
    ]
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", *OPTIONS, *more) == 1
    told = capfd.readouterr().err.splitlines()[-1]
    assert "a number is not finite: the model diverged" in told
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_nothing_prepares_batches_once_the_loop_has_failed(cli, tiny_dataset, tmp_path, monkeypatch):
    """An error while a batch is recorded, such as a full disk: the thread that reads resident rows ends before they go.

    It ends because the loop closes what yields its batches: that is held here, so that nothing else can close it.
    """
    alive, close, held, run = [], Work.close, [], trainer.run

    def holding(*arguments):
        held.append(run(*arguments))
        return held[-1]

    def failing(self, *arguments):
        raise RunError("the disk is full")

    def closing(self):
        alive.extend(thread for thread in threading.enumerate() if thread.name.endswith("(work)"))
        close(self)

    monkeypatch.setattr(trainer, "run", holding)
    monkeypatch.setattr(Meter, "batch", failing)
    monkeypatch.setattr(Work, "close", closing)
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", *OPTIONS, "--set", "training.batch_size=20") == 1
    assert len(held) == 1
    assert alive == []
