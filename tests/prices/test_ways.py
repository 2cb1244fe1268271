"""The ways to train are priced from the plans of their runs, and read what they are said to read."""

import json
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from node_runs import lines, options

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

from marius_lite.config import packing
from marius_lite.prices.batches import BatchTimes
from marius_lite.prices.ways import SCRATCH


@pytest.fixture
def told(cli, capfd):
    def run(*arguments):
        capfd.readouterr()
        assert cli("plan", *arguments) == 0
        return capfd.readouterr().out

    return run


@contextmanager
def small_windows(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(packing, "BLOCK_BYTES", 1 << 12)
        patch.setattr(packing, "LEAST_LISTS", 1 << 12)
        yield


def test_each_way_has_its_plan_and_its_seconds(told, communities):
    before = sorted(communities.parent.iterdir())
    (communities.parent / f"{SCRATCH}killed").mkdir()
    more = ["storage.capacity=2", "sampling.scope=auto"]
    prices = json.loads(told(communities, *options(*more), "--json"))["prices"]
    ways = {each["way"]: each for each in prices["ways"]}
    assert list(ways) == ["resident", "exact", "propagate once"]
    for each in ways.values():
        assert each["why_not"] == ""
        assert 0 < each["seconds"] < 60
    assert ways["resident"]["about"] == "2 of 8 partitions"
    assert 0 < ways["resident"]["absent"] < 1
    assert ways["exact"]["disk"] > 0
    assert ways["exact"]["absent"] == ways["propagate once"]["absent"] == 0
    assert prices["rates"]["read"] > 0
    assert sorted(communities.parent.iterdir()) == before


def test_rows_in_packs_are_read_as_priced(cli, told, communities, tmp_path, monkeypatch):
    """The dataset's bytes, packs and samples that a run reads, within the samples that were looked at."""
    more = ["sampling.scope=exact", "storage.capacity=2", "training.batch_size=20", "storage.packs_disk=130KB"]
    with small_windows(monkeypatch):
        (price,) = [
            each for each in json.loads(told(communities, *options(*more), "--json"))["prices"]["ways"] if each["way"] == "exact"
        ]
        assert cli("train", communities, "--run", tmp_path / "run", *options(*more)) == 0
    read = [line["machine"]["bytes_read"] for line in lines(tmp_path / "run", "epoch")][1:]
    assert np.mean(read) / 1.5 < price["read"] < np.mean(read) * 1.5


def test_what_cannot_be_is_told_beside_the_others(told, communities):
    text = told(communities, *options("model.encoder=gat", "sampling.scope=auto"), "--untimed")
    assert "  propagate once: `training.method` is layerwise, but `model.encoder` is gat" in text
    assert "everything in memory" in text
    assert " s  " not in text.partition("ways ")[2]  # nothing was timed


def test_ways_stand_in_the_text(told, communities):
    text = told(communities, *options("storage.capacity=2", "sampling.scope=auto"))
    assert "of neighbours are not seen" in text
    assert "files are read at " in text
    assert "past the page cache" in text or "through the page cache, which may have had them" in text


def test_one_way_alone_is_not_compared(told, communities):
    assert "prices" not in json.loads(
        told(
            communities,
            *options("training.method=cluster", "sampling.fanouts=auto", "sampling.scope=auto", "storage.capacity=2"),
            "--json",
        )
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 200), st.integers(0, 199), st.integers(1, 9), st.integers(0, 1 << 30))
def test_more_rows_that_stay_serve_more(nodes, hot, batches, seed):
    rng = np.random.default_rng(seed)
    of = [np.sort(rng.permutation(nodes)[: rng.integers(1, nodes + 1)]) for _ in range(batches)]
    times = BatchTimes(1, 1, 1, 1, 1, of)
    shares = [times.used(each, nodes) for each in (0, min(hot, nodes), nodes)]
    assert shares[0] == 0
    assert 0 <= shares[1] <= shares[2] == 1
