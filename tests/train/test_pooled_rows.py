"""`sampling.scope: exact` with learned rows: with few in memory a run has the bits of one with all, whatever stops it."""

import errno
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from node_runs import bits, lines, options
from node_runs import train as trained
from weighted_dataset import with_weights

from marius_lite.files import disk_errors
from marius_lite.rows.pool import RowPool
from marius_lite.storage.packs import KeptObjects

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

SMALL = ("model.dim=8", "training.batch_size=5", "model.layers=[]", "sampling.fanouts=[3]", "training.epochs=2")
LEARNED = (*SMALL, "model.inputs=embeddings")
FEW = ("storage.capacity=2", "sampling.scope=exact", "checkpoint.keep=20")
ALL = ("storage.capacity=8", "checkpoint.keep=20")


def rows_of(run):
    """The bytes of the learned rows in each checkpoint."""
    return {path.relative_to(run / "checkpoints"): path.read_bytes() for path in run.glob("checkpoints/[0-9]*/nodes/c/*/0")}


def train(cli, dataset, run, *settings):
    found = trained(cli, dataset, run, *settings)
    rows = rows_of(run)
    assert rows
    return found, rows


@pytest.fixture
def windows(monkeypatch):
    """How many rows each window that was brought has."""
    sizes, bring = [], RowPool.bring
    monkeypatch.setattr(RowPool, "bring", lambda pool, nodes, *more: (sizes.append(len(nodes)), bring(pool, nodes, *more))[1])
    return sizes


@pytest.mark.parametrize(
    "settings",
    [
        [],
        ["model.inputs=both"],
        ["storage.row_dtype=bfloat16", "model.inputs=both"],
        ["model.encoder=gcn", "model.dropout=0.3", "training.threads=2"],
        ["sampling.weighted=true"],
        ["optimizer.rows.name=adam", "storage.direct_io=false", "storage.io_threads=1"],
        ["sampling.lists=disk"],
        ["sampling.refresh_epochs=2"],
        ["init.hops=2", "init.by_turns=true"],
    ],
    ids=" ".join,
)
def test_the_bits_are_those_of_a_run_in_memory(cli, communities, tmp_path, windows, settings):
    dataset = communities
    if "sampling.weighted=true" in settings:
        dataset = with_weights(communities, tmp_path / "dataset", lambda src, dst, rel: (src + 3 * dst) % 5).path
    in_memory = [each for each in settings if not each.startswith("sampling.lists")]
    expected = train(cli, dataset, tmp_path / "all", *ALL, *LEARNED, *in_memory)
    assert not windows
    assert train(cli, dataset, tmp_path / "few", *FEW, *LEARNED, *settings) == expected
    assert len(windows) > 2 * 2
    assert max(windows) <= 150
    for line in lines(tmp_path / "few", "epoch"):
        machine = line["machine"]
        assert machine["neighbours_not_resident"] == 0 < machine["neighbours"]
        assert machine["bytes_read"] > machine["bytes_written"] > 0
    assert not [path for path in (tmp_path / "few").iterdir() if path.name.startswith(".")]


def test_a_batch_may_need_more_rows_than_were_planned(cli, communities, tmp_path, monkeypatch, windows):
    """A fanout of -1 counts as so many neighbours as the first fanout has that nobody chose."""
    monkeypatch.setattr("marius_lite.config.encoder_memory.FANOUTS", (2,))
    settings = (*LEARNED, "sampling.fanouts=[-1]", "training.batch_size=16")
    assert train(cli, communities, tmp_path / "few", *FEW, *settings) == train(
        cli, communities, tmp_path / "all", *ALL, *settings
    )
    assert max(windows) > 150


def test_stopped_in_mid_window_it_goes_on_with_the_same_bits(cli, communities, tmp_path, windows):
    settings = (*LEARNED, "training.batch_size=10")
    expected = train(cli, communities, tmp_path / "all", *ALL, *settings)
    often = ("checkpoint.every_minutes=1e-9", "checkpoint.keep=1000")
    train(cli, communities, tmp_path / "often", *FEW, *settings, *often)
    assert len(windows) > 20  # each checkpoint ends one
    for name in ("0.0.1", "1.0.7"):
        shutil.copytree(tmp_path / "often", tmp_path / name, symlinks=True)
        assert cli("resume", tmp_path / name, "--checkpoint", name, "--set", "checkpoint.every_minutes=null") == 0
        weights, losses, figures = bits(tmp_path / name)
        last = {path: data for path, data in expected[1].items() if path.parts[0] == "2.0.0"}
        assert {path: data for path, data in rows_of(tmp_path / name).items() if path.parts[0] == "2.0.0"} == last
        assert (weights["2.0.0"], losses, figures) == (expected[0][0]["2.0.0"], *expected[0][1:])


def test_staleness_learns(cli, communities, tmp_path):
    """Batches that are gathered before others are applied find rows that these change, whatever window they are in."""
    found = train(cli, communities, tmp_path / "few", *FEW, *LEARNED, "training.staleness=2", "model.inputs=both")
    assert found[0][2][-1]["accuracy"] > 0.5


LINKS = (
    "model.encoder=sage",
    "model.layers=[]",
    "model.dim=8",
    "sampling.fanouts=[2]",
    "training.batch_size=20",
    "negatives.count=10",
    "training.epochs=2",
    "training.threads=1",
    "storage.window_edges=400",
)


def test_rows_that_are_kept_stay(cli, tmp_path, windows):
    """Where a run goes on from another, and the nodes that it knew stay as they were."""
    rng, made = np.random.default_rng(0), {}
    np.save(tmp_path / "edges.npy", rng.integers(200, size=(1000, 2)))
    np.save(tmp_path / "more.npy", rng.integers(230, size=(300, 2)))
    files = ("--partitions", "8", "--adjacency", "in", "--output", tmp_path / "d")
    assert cli("preprocess", tmp_path / "edges.npy", *files) == 0
    told = ["--quiet", "--config", "preset:plain", *(part for each in LINKS for part in ("--set", each))]
    assert cli("train", tmp_path / "d", "--run", tmp_path / "before", *told) == 0
    assert cli("update", tmp_path / "d", tmp_path / "more.npy") == 0
    for name, memory in (("all", ["storage.capacity=auto"]), ("few", ["storage.capacity=2", "sampling.scope=exact"])):
        more = [part for each in (*memory, "training.freeze=old") for part in ("--set", each)]
        assert cli("train", tmp_path / "d", "--run", tmp_path / name, "--from", tmp_path / "before", *told, *more) == 0
        made[name] = bits(tmp_path / name), rows_of(tmp_path / name)
    assert made["all"] == made["few"]
    assert len(windows) > 4


def test_the_plan_counts_memory_and_disk(cli, communities, tmp_path, capfd):
    settings = (*LEARNED, "training.epochs=3")
    assert cli("plan", communities, "--json", *options(*FEW, *settings)) == 0
    plan = json.loads(capfd.readouterr().out)
    pooling = plan["memory"]["pooling"]
    assert (pooling["rows"], plan["memory"]["slots"]) == (150, 3)
    assert plan["disk"]["packs"] == 2 * pooling["samples"] > 0
    assert plan["neighbours_not_resident"] == 0
    train(cli, communities, tmp_path / "run", *FEW, *settings)
    for name, line in zip(("first_epoch", "later_epoch"), lines(tmp_path / "run", "epoch")):
        assert plan[name]["rows_read"] >= line["machine"]["bytes_read"] > 0
        assert plan[name]["rows_written"] >= line["machine"]["bytes_written"] > 0
    assert cli("plan", communities, *options(*FEW, *settings)) == 0
    said = capfd.readouterr().out
    assert "150 rows and 3 slots of" in said
    assert "of samples" in said
    ways = {each["way"]: each for each in plan["prices"]["ways"]}
    assert list(ways) == ["resident", "exact"]
    assert re.fullmatch(r"150 rows at a time, all lists; .* written", ways["exact"]["about"])
    assert ways["resident"]["absent"] > 0 == ways["exact"]["absent"]


def test_a_disk_that_fills_up_ends_the_run(cli, communities, tmp_path, capfd, monkeypatch):
    """What the last checkpoint has is not lost, and the run goes on from there."""
    expected = train(cli, communities, tmp_path / "all", *ALL, *LEARNED)
    monkeypatch.setattr("marius_lite.storage.packs.KeptObjects.keep", fails_after(30))
    assert cli("train", communities, "--run", tmp_path / "few", "--quiet", *options(*FEW, *LEARNED)) == 1
    assert "the disk is full" in capfd.readouterr().err
    monkeypatch.undo()
    assert cli("resume", tmp_path / "few", "--quiet") == 0
    assert (bits(tmp_path / "few"), rows_of(tmp_path / "few")) == expected


def fails_after(calls, keep=KeptObjects.keep):
    """`KeptObjects.keep` for a disk that has room for so many samples."""
    left = iter(range(calls))

    def fails(kept, whole):
        if next(left, None) is None:
            with disk_errors(Path("samples")):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return keep(kept, whole)

    return fails
