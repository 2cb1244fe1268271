"""Link prediction through an encoder: it learns, never sees the edges it predicts, and resumes to the same bits."""

import json
import os
import signal

import numpy as np
import pytest

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

SETTINGS = ["model.encoder=sage", "model.decoder=distmult", "model.dim=16", "sampling.fanouts=[4]", "storage.capacity=2",
            "training.threads=1", "training.batch_size=100", "negatives.count=50", "negatives.chunks=1", "training.epochs=3"]


def options(*more):
    return [part for item in (*SETTINGS, *more) for part in ("--set", item)]


def amounts_to(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    told = [(line["kind"], line["epoch"], line["step"], line["batch"], line.get("loss"), line.get("mrr")) for line in lines]
    latest = run / "checkpoints" / "latest"
    rows = [path.read_bytes() for path in sorted((latest / "nodes" / "c").glob("*/0"))]
    return told, (latest / "dense.safetensors").read_bytes(), rows


def test_it_learns_and_every_command_works_on_it(cli, surrounded, tmp_path, capfd):
    run = tmp_path / "run"
    assert cli("train", surrounded, "--run", run, *options("training.epochs=12", "evaluation.every_epochs=6")) == 0
    capfd.readouterr()
    assert cli("eval", run, "--json") == 0
    result = json.loads(capfd.readouterr().out)
    assert result["mrr"] > 0.06  # 300 candidates at random: 0.02
    (tmp_path / "q").write_text("node7\trel1\t?\n")
    assert cli("predict", run, "--queries", tmp_path / "q", "--topk", "3") == 0
    assert cli("export", run, "--output", tmp_path / "out", "--format", "npy") == 0
    assert np.load(tmp_path / "out" / "nodes.npy").shape == (300, 16)
    assert not list(run.glob(".vectors*"))


def test_stopped_and_resumed_it_has_the_same_bits(cli, surrounded, tmp_path, monkeypatch):
    from marius_lite.train.meter import Meter

    assert cli("train", surrounded, "--run", tmp_path / "whole", *options()) == 0
    batch, seen = Meter.batch, []

    def interrupted(self, *arguments):
        batch(self, *arguments)
        seen.append(1)
        if len(seen) in (3, 20):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Meter, "batch", interrupted)
    assert cli("train", surrounded, "--run", tmp_path / "parts", *options()) == 143
    assert cli("resume", tmp_path / "parts") == 143
    assert cli("resume", tmp_path / "parts") == 0
    assert amounts_to(tmp_path / "parts") == amounts_to(tmp_path / "whole")


def test_a_batch_never_samples_its_own_edges(cli, surrounded, tmp_path, monkeypatch):
    from marius_lite.train.encoded_link_work import EncodedLinkWork

    surround, checked = EncodedLinkWork._surround, []

    def watched(self, edges):
        found = surround(self, edges)
        own = set(zip(self._node_ids(edges.src).tolist(), self._node_ids(edges.dst).tolist()))
        own |= {(dst, src) for src, dst in own}
        around = found.around
        targets = around.nodes[np.repeat(np.arange(len(around.indptr) - 1), np.diff(around.indptr))]
        passed = set(zip(around.nodes[around.indices].tolist(), targets.tolist()))
        checked.append(len(passed))
        assert not passed & own
        return found

    monkeypatch.setattr(EncodedLinkWork, "_surround", watched)
    assert cli("train", surrounded, "--run", tmp_path / "run", *options("training.epochs=1")) == 0
    assert sum(checked) > 1000


def test_without_adjacency_it_is_refused(cli, tiny_dataset, tmp_path, capfd):
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", *options()) == 2
    assert "preprocessed with --adjacency in" in capfd.readouterr().err
