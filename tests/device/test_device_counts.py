"""What a batch puts on a GPU is bounded, at any number of chunks, and the host waits for nothing in between."""

import importlib
from pathlib import Path

import pytest

from marius_lite.nn import similarities

BENCH = Path(__file__).parents[2] / "scripts" / "bench"


@pytest.fixture(scope="module")
def counting():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        yield importlib.import_module("device_counts")


MOST = {"complex": 45, "distmult": 48, "dot": 48, "transe": 60, "transe_l1": 46, "rotate": 60}
FILLING = 8
"""Launches that chunks take where they are not full: they are filled."""


@pytest.mark.parametrize("decoder", MOST)
@pytest.mark.parametrize("relations", [1, 50])
def test_launches_of_a_batch(counting, host_library, decoder, relations):
    found = {}
    for batch, chunks in ((300, 1), (300, 10), (297, 10), (300, 100), (600, 10)):
        shape = counting.Shape(batch, chunks, relations, negatives=20, dim=8, nodes=5000)
        found[batch, chunks] = counting.counted(host_library, shape, decoder)
    launches = {key: counts.launches for key, counts in found.items()}
    assert launches.pop((297, 10)) <= MOST[decoder] + FILLING
    assert max(launches.values()) <= MOST[decoder], launches
    assert all(counts.waits == 0 for counts in found.values())
    assert found[300, 1].launches == found[300, 10].launches == found[300, 100].launches
    assert found[600, 10].up > 1.2 * found[300, 10].up


@pytest.mark.parametrize("decoder", ["transe_l1", "rotate"])
def test_launches_of_distances_in_pieces(counting, host_library, decoder, monkeypatch):
    """Where their differences do not fit, there are no more pieces for more chunks, but for what is left over at their ends."""
    monkeypatch.setattr(similarities, "DIFFERENCES", 90 * 20 * 8)  # of 90 of the queries of both sides, 600 in all
    few, *more = (
        counting.counted(host_library, counting.Shape(300, chunks, 50, negatives=20, dim=8, nodes=5000), decoder).launches
        for chunks in (1, 3, 10, 100)
    )
    assert max(more) <= 1.5 * few


def test_a_batch_that_is_repeated_takes_few_calls_of_the_host(counting, host_library):
    found = [
        counting.counted(host_library, counting.Shape(batch, chunks, 50, negatives=20, dim=8, nodes=5000), graphs=True)
        for batch, chunks in ((300, 1), (300, 100), (600, 10))
    ]
    assert all(counts.names["graph"] == 1 for counts in found)
    assert all(counts.launches <= 12 and counts.calls <= 60 for counts in found), found
    assert all(counts.waits == 0 for counts in found)


def test_a_wait_is_seen(counting, host_library, monkeypatch):
    gradients = counting.LinkPredictionModel.gradients

    def impatient(model, batch):
        float(batch.src.sum())
        return gradients(model, batch)

    monkeypatch.setattr(counting.LinkPredictionModel, "gradients", impatient)
    assert counting.counted(host_library, counting.Shape(300, 10, 5, negatives=20, dim=8, nodes=5000)).waits == 1


def test_a_batch_of_graphsage_waits_for_nothing(counting, host_library, tmp_path):
    found = counting.counted_sage(host_library, counting.sage_dataset(tmp_path, 2000, 20_000), "5,4,3", seeds=100)
    assert found.waits == 0
    assert found.launches <= 150
    assert found.down == 0  # features are only read
    assert found.up > 100 * 128 * 4
