"""Whole runs on the emulated device: the rows, relations and losses of the CPU's run, bit for bit, over every path."""

import json

import numpy as np
import pytest
import toy_decoder
import zarr
from emulated import accelerator

from marius_lite.config.load import load
from marius_lite.device import verified
from marius_lite.device.replay import Graph
from marius_lite.errors import UserError
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.train import build
from marius_lite.train.run import resume_run, train_run

SETTINGS = [
    "storage.capacity=2",
    "model.dim=12",
    "model.dropout=0.2",
    "training.epochs=3",
    "training.batch_size=100",
    "training.threads=1",
    "negatives.count=30",
    "negatives.chunks=2",
    "checkpoint.keep=9",
    "evaluation.max_edges=50",
    "checkpoint.every_minutes=0.0005",
]


def amounts_to(run):
    """Rows, dense weights and losses at the end of a run."""
    place = (run / "checkpoints" / "latest").resolve()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    told = [(line["kind"], line["epoch"], line["step"], line["batch"], line.get("loss"), line.get("mrr")) for line in lines]
    return zarr.open(place / "nodes", mode="r")[:], (place / "dense.safetensors").read_bytes(), told


@pytest.fixture(scope="module")
def on_the_cpu(tiny_dataset, tmp_path_factory):
    run = tmp_path_factory.mktemp("cpu") / "run"
    train_run(tiny_dataset, run, load(sets=SETTINGS))
    return amounts_to(run)


@pytest.fixture
def emulated(host_library, monkeypatch):
    monkeypatch.setattr(build, "open_accelerator", lambda device: accelerator(host_library, seed=5)[0])
    monkeypatch.setattr(DenseOptimizer, "repeated", lambda self, steps: None)  # what repeats work here counts by itself


def same(left, right):
    np.testing.assert_array_equal(left[0], right[0])
    assert left[1:] == right[1:]


@pytest.mark.parametrize(
    "more",
    [
        ["storage.device_path=zero_copy"],
        ["storage.device_path=staged"],
        ["storage.device_path=bulk"],
        ["storage.device_path=zero_copy", "storage.device_cache=4kB"],
        ["storage.device_path=staged", "storage.device_cache=4kB", "training.staleness=2"],
    ],
)
def test_a_run_has_the_bits_of_the_cpu(emulated, tiny_dataset, tmp_path, on_the_cpu, more):
    train_run(tiny_dataset, tmp_path / "run", load(sets=[*SETTINGS, *more]))
    same(amounts_to(tmp_path / "run"), on_the_cpu)


@pytest.mark.parametrize(
    "more",
    [
        ["negatives.balance=true"],
        ["negatives.balance=false", "negatives.log_q=true", "negatives.degree_fraction=0.5"],
        ["negatives.count=all", "loss.relation_weight=0.1", "model.decoder=complex", "model.reciprocal=true"],
        ["negatives.mask_known=true"],
    ],
    ids=["balance", "log q", "all negatives", "known left out"],
)
@pytest.mark.parametrize("way", ["auto", "torch"])
def test_what_arrives_beside_the_rows_is_of_the_batch_that_is_repeated(emulated, tiny_dataset, tmp_path, monkeypatch, more, way):
    sets, repeat, repeated = [*SETTINGS, *more, f"training.scoring={way}", "storage.device_path=bulk"], Graph.repeat, []
    monkeypatch.setattr(Graph, "repeat", lambda graph, batches: repeated.append(graph) or repeat(graph, batches))
    train_run(tiny_dataset, tmp_path / "run", load(sets=sets))
    assert bool(repeated) == ("negatives.mask_known=true" not in more)
    train_run(tiny_dataset, tmp_path / "called", load(sets=[*sets, "training.device_graphs=false"]))
    same(amounts_to(tmp_path / "run"), amounts_to(tmp_path / "called"))


def test_resumed_over_another_path_it_has_the_same_bits(emulated, tiny_dataset, tmp_path, on_the_cpu):
    run = tmp_path / "run"
    train_run(tiny_dataset, run, load(sets=[*SETTINGS, "storage.device_path=bulk"]))
    middle = [path.name for path in (run / "checkpoints").iterdir() if not path.name.endswith(".0") and path.name[0].isdigit()]
    assert middle, "no checkpoint was made inside a step"
    resume_run(run, min(middle), ["storage.device_path=zero_copy", "storage.device_cache=2kB"])
    same(amounts_to(run), on_the_cpu)


def test_a_decoder_with_weights_has_the_bits_of_the_cpu(host_library, monkeypatch, tiny_dataset, tmp_path):
    toy_decoder.register(monkeypatch)
    sets = [*SETTINGS, "model.decoder=toy"]
    train_run(tiny_dataset, tmp_path / "cpu", load(sets=sets))
    monkeypatch.setattr(build, "open_accelerator", lambda device: accelerator(host_library, seed=5)[0])
    train_run(tiny_dataset, tmp_path / "run", load(sets=[*sets, "storage.device_path=staged"]))
    same(amounts_to(tmp_path / "run"), amounts_to(tmp_path / "cpu"))


def test_what_was_chosen_is_said(emulated, tiny_dataset, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(verified, "GPUS", ())
    caplog.set_level("INFO", "marius_lite")
    train_run(tiny_dataset, tmp_path / "run", load(sets=[*SETTINGS, "training.epochs=1"]))
    said = caplog.text
    assert "rows reach cpu by staged: the others are not chosen before they have run on a GPU" in said
    assert "this code is compiled, never run on a GPU" in said


def test_too_little_device_memory_is_refused(emulated, tiny_dataset, tmp_path):
    with pytest.raises(UserError, match=r"`storage.device_memory` is 1.00 MB, but the device needs .*batches .* scores"):
        train_run(tiny_dataset, tmp_path / "run", load(sets=[*SETTINGS, "storage.device_memory=1MB"]))
