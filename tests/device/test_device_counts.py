"""What a batch puts on a GPU is bounded, at any number of chunks, and the host waits for nothing in between."""

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "scripts" / "bench"


@pytest.fixture(scope="module")
def counting():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        yield importlib.import_module("device_counts")


@pytest.mark.parametrize("decoder", ["complex", "distmult", "dot"])
@pytest.mark.parametrize("relations", [1, 50])
def test_launches_of_a_batch(counting, host_library, decoder, relations):
    found = {}
    for batch, chunks in ((300, 1), (300, 10), (297, 10), (300, 100), (600, 10)):
        shape = counting.Shape(batch, chunks, relations, negatives=20, dim=8, nodes=5000)
        found[batch, chunks] = counting.counted(host_library, shape, decoder)
    launches = {key: counts.launches for key, counts in found.items()}
    assert launches.pop((297, 10)) <= 54  # chunks that are not full are filled
    assert max(launches.values()) <= 48, launches
    assert all(counts.waits == 0 for counts in found.values())
    assert found[300, 1].launches == found[300, 10].launches == found[300, 100].launches
    assert found[600, 10].up > 1.2 * found[300, 10].up


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
