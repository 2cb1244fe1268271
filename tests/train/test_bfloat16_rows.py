"""Whole runs whose rows are bfloat16: they learn, take half the room, resume to the same bits, and every command reads them."""

import json

import numpy as np
import pytest
from link_runs import amounts_to, stopped_twice
from open_parts import open_parts

from marius_lite.config.memory import slot_bytes
from marius_lite.encode import vectors
from marius_lite.storage.bfloat16 import BITS, from_bfloat16
from marius_lite.storage.table import RowTable

SETTINGS = [
    "model.decoder=distmult",
    "model.dim=16",
    "storage.capacity=2",
    "storage.row_dtype=bfloat16",
    "training.threads=1",
    "training.batch_size=100",
    "training.epochs=3",
    "negatives.count=50",
    "negatives.chunks=1",
    "evaluation.every_epochs=1",
]
ENCODED = ["model.encoder=sage", "sampling.fanouts=[4]"]


def options(*more):
    return ["--config", "preset:plain", *(part for item in (*SETTINGS, *more) for part in ("--set", item))]


def figure(cli, capfd, run):
    capfd.readouterr()
    assert cli("eval", run, "--json") == 0
    return json.loads(capfd.readouterr().out)["mrr"]


@pytest.mark.parametrize(("optimizer", "rate"), [("adagrad", 0.1), ("row_adagrad", 0.1), ("adam", 0.01), ("sgd", 0.1)])
def test_it_learns_as_float32_does_in_half_the_room(cli, tiny_dataset, tmp_path, capfd, optimizer, rate):
    figures, strides = {}, {}
    for kind in ("float32", "bfloat16"):
        rows = [f"optimizer.rows.name={optimizer}", f"optimizer.rows.lr={rate}"]
        more = [f"storage.row_dtype={kind}", *rows, "optimizer.dense.lr=0.1", "training.epochs=10"]
        assert cli("train", tiny_dataset, "--run", tmp_path / kind, *options(*more)) == 0
        figures[kind] = figure(cli, capfd, tmp_path / kind)
        strides[kind] = RowTable.open(tmp_path / kind / "live" / "nodes").stride
    assert figures["bfloat16"] > 0.85 * figures["float32"] > 0.1, figures  # one small graph: they differ by a tenth either way
    assert strides["bfloat16"] <= 0.5 * strides["float32"] + 16


def test_the_same_bits_whether_stopped_or_not_and_wherever_partitions_lie(cli, tiny_dataset, tmp_path, monkeypatch):
    for name, more in (("whole", []), ("elsewhere", ["storage.prefetch=false"])):
        assert cli("train", tiny_dataset, "--run", tmp_path / name, *options(*more)) == 0
    stopped_twice(cli, monkeypatch, tmp_path / "parts", tiny_dataset, *options())
    expected = amounts_to(tmp_path / "whole")
    assert amounts_to(tmp_path / "parts") == expected
    assert amounts_to(tmp_path / "elsewhere") == expected


def test_what_is_exported_is_what_the_checkpoint_has(cli, tiny_dataset, tmp_path):
    run = tmp_path / "run"
    assert cli("train", tiny_dataset, "--run", run, *options()) == 0
    assert cli("export", run, "--output", tmp_path / "out", "--format", "npy", "--checkpoint", "latest") == 0
    exported, table = np.load(tmp_path / "out" / "nodes.npy"), RowTable.open(run / "checkpoints" / "latest" / "nodes")
    assert table.dtype == BITS
    assert table.attributes["type"] == "bfloat16"
    stored = np.concatenate([table.read_rows(k, np.arange(table.size(k)), slice(0, 16)) for k in range(table.partitions)])
    assert exported.dtype == np.float32
    np.testing.assert_array_equal(exported, from_bfloat16(stored))
    (tmp_path / "q").write_text("node7\trel1\t?\n")
    assert cli("predict", run, "--queries", tmp_path / "q", "--topk", "3") == 0


@pytest.mark.parametrize("inputs", ["embeddings", "both"])
def test_an_encoder_learns_from_them(cli, featured, tmp_path, monkeypatch, capfd, inputs):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    more = [*ENCODED, f"model.inputs={inputs}"]
    assert cli("train", featured, "--run", tmp_path / "whole", *options(*more)) == 0
    stopped_twice(cli, monkeypatch, tmp_path / "parts", featured, *options(*more))
    assert amounts_to(tmp_path / "parts") == amounts_to(tmp_path / "whole")
    best = max(line[-1] for line in amounts_to(tmp_path / "whole")[0] if line[0] == "evaluation")
    assert best > 0.02  # 300 candidates at random
    assert figure(cli, capfd, tmp_path / "whole") > 0.02


@pytest.mark.parametrize("inputs", ["embeddings", "both"])
def test_classes_are_learned_from_them(cli, communities, tmp_path, capfd, inputs):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    sets = ["task=node_classification", "model.encoder=sage", "model.layers=[16]", "sampling.fanouts=[5,5]", "model.dim=16"]
    sets += ["model.normalize_features=false"]
    more = [f"model.inputs={inputs}", "storage.row_dtype=bfloat16", "training.threads=1", "training.batch_size=40"]
    chosen = [part for item in (*sets, *more, "training.epochs=10") for part in ("--set", item)]
    assert cli("train", communities, "--run", tmp_path / "run", *chosen) == 0
    capfd.readouterr()
    assert cli("eval", tmp_path / "run", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert found["accuracy"] > 1.5 / found["classes"]


def test_an_encoders_vectors_take_no_more_than_the_rows_buffer(featured, monkeypatch):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    opened, behind = [], vectors.rows_behind

    def watched(table, config, slots):
        opened.append(slots * slot_bytes(table.rows_per_partition, table.stride))
        return behind(table, config, slots)

    monkeypatch.setattr(vectors, "rows_behind", watched)
    for kind in ("float32", "bfloat16"):
        sets = [*SETTINGS, *ENCODED, "model.inputs=embeddings", "model.dim=64", f"storage.row_dtype={kind}"]
        with open_parts(featured, *sets) as parts:
            parts.work.initialise()
            buffer = parts.work.rows.main
            assert parts.work.evaluate()["mrr"] > 0
            assert opened.pop() <= buffer.slots * slot_bytes(buffer.table.rows_per_partition, buffer.table.stride)


def test_half_is_planned(cli, tiny_dataset, capfd):
    planned = {}
    for kind in ("float32", "bfloat16"):
        assert (
            cli(
                "plan",
                tiny_dataset,
                *options("model.dim=64", "optimizer.rows.name=adagrad", f"storage.row_dtype={kind}"),
                "--json",
            )
            == 0
        )
        planned[kind] = json.loads(capfd.readouterr().out)["memory"]["buffer"]
    assert planned["bfloat16"] == planned["float32"] / 2


def test_a_gpu_is_refused_and_so_is_another_type_when_resumed(cli, tiny_dataset, tmp_path, capfd):
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", *options("device=cuda")) == 2
    assert "`storage.row_dtype` is bfloat16, but `device` is cuda: such rows are trained on the CPU" in capfd.readouterr().err
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", *options("training.epochs=1")) == 0
    assert cli("resume", tmp_path / "run", "--set", "storage.row_dtype=float32") == 2
    assert "storage.row_dtype" in capfd.readouterr().err
