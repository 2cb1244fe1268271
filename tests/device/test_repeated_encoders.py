"""Whole runs of encoders whose batches get sizes that recur: repeated by a device or not, the bits are the same."""

import json
import math

import numpy as np
import pytest
from emulated import accelerator
from safetensors.numpy import load as tensors_of
from test_encoders_on_device import NODES, PATHS, amounts_to

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

from marius_lite.config.load import load
from marius_lite.device import replay
from marius_lite.train import build
from marius_lite.train.run import train_run

SETTINGS = [*NODES, "optimizer.dense.name=adagrad", "training.epochs=4", "model.dropout=0.2", "checkpoint.every_minutes=null"]


@pytest.fixture
def repeats(host_library, monkeypatch):
    """Runs train on the emulation, which repeats work from its third batch on. What was repeated is counted."""
    monkeypatch.setattr(build, "open_accelerator", lambda device: accelerator(host_library, 5, recurring=True)[0])
    monkeypatch.setattr(replay, "SEEN", 2)
    counted, repeat = [], replay.Graph.repeat
    monkeypatch.setattr(replay.Graph, "repeat", lambda *arguments: (counted.append(1), repeat(*arguments)))
    return counted


def trained(dataset, run, *more):
    train_run(dataset, run, load(sets=[*SETTINGS, *more]))
    rows, weights, told = amounts_to(run)
    # The emulation repeats a step by making it again, so that it counts it twice.
    return rows, {name: value for name, value in tensors_of(weights).items() if not name.endswith("/step")}, told


def neighbours(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line["machine"]["neighbours"] for line in lines if line["kind"] == "epoch"]


@pytest.mark.parametrize("path", ["zero_copy, cached", "staged", "bulk"])
@pytest.mark.parametrize(
    "more",
    [
        ["model.inputs=features"],
        ["model.inputs=both"],
        ["model.inputs=both", "model.encoder=gcn", "model.norm=layer"],
        [
            "model.inputs=features",
            "model.directions=both",
            "model.degree_unit=6",
            "model.degrees_apart=true",
            "training.epochs=5",
        ],
        ["model.inputs=both", "model.known_classes=true", "training.epochs=5"],
    ],
)
def test_a_run_has_the_same_bits(communities, repeats, tmp_path, path, more):
    settings = [*more, *PATHS[path]]
    whole = trained(communities, tmp_path / "whole", *settings, "training.device_graphs=false")
    assert not repeats
    found = trained(communities, tmp_path / "found", *settings)
    assert len(repeats) >= 10
    np.testing.assert_array_equal(found[0], whole[0])
    assert found[1].keys() == whole[1].keys()
    for name in found[1]:
        np.testing.assert_array_equal(found[1][name], whole[1][name], err_msg=name)
    assert found[2] == whole[2]


def test_it_learns_what_a_run_without_learns(communities, repeats, host_library, monkeypatch, tmp_path):
    more = ["model.inputs=both", "model.dropout=0", *PATHS["zero_copy"]]
    found = trained(communities, tmp_path / "found", *more, "training.device_graphs=false")
    monkeypatch.setattr(build, "open_accelerator", lambda device: accelerator(host_library, 5)[0])
    plain = trained(communities, tmp_path / "plain", *more)
    for one, other in zip(found[2], plain[2], strict=True):
        assert one[:4] == other[:4]
        assert one[4] is None or math.isclose(one[4], other[4], rel_tol=1e-3)
    assert neighbours(tmp_path / "found") == neighbours(tmp_path / "plain")  # what was added is not counted
    np.testing.assert_allclose(found[0], plain[0], rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("more", [["model.encoder=gat"], ["model.norm=batch"]])
def test_what_asks_the_device_or_sees_all_rows_is_launched_call_by_call(communities, repeats, tmp_path, more):
    trained(communities, tmp_path / "run", "model.inputs=features", "training.epochs=1", *more, *PATHS["zero_copy"])
    assert not repeats
