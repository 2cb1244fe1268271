"""Neighbours come from what is resident, and the counters tell what was trained with, not what was drawn ahead."""

import numpy as np
import pytest

from marius_lite.config.load import load
from marius_lite.encode.neighbourhoods import open_neighbourhoods
from marius_lite.graph.dataset import Dataset

SETS = ["model.encoder=sage", "model.layers=[8]", "sampling.fanouts=[3,2]", "training.threads=1"]
SEEDS = np.array([1, 20, 74])


@pytest.fixture
def neighbourhoods(surrounded, tmp_path):
    made = open_neighbourhoods(None, Dataset.open(surrounded), load(sets=SETS), degrees=False, folder=tmp_path)
    yield made
    made.close()


def base_rows(*partitions):
    return {k: 256 * slot for slot, k in enumerate(partitions)}


def test_neighbours_are_resident(neighbourhoods):
    for partitions in [(0, 2), (0, 1, 2, 3), (3, 0)]:
        neighbourhoods.enter(base_rows(*partitions), [1])
        sample = neighbourhoods.sample(SEEDS, 5)
        assert set(sample.nodes // 75) <= set(partitions)
        bases = np.array([base_rows(*partitions)[k] for k in sample.nodes // 75])
        np.testing.assert_array_equal(sample.rows, bases + sample.nodes % 75)
        assert (sample.missing == 0) == (len(partitions) == 4)


def test_what_is_drawn_follows_from_the_seed_not_from_slots(neighbourhoods):
    neighbourhoods.enter(base_rows(0, 1), [])
    first, other = (neighbourhoods.sample(SEEDS, seed).nodes for seed in (5, 6))
    neighbourhoods.enter(base_rows(1, 0), [])
    np.testing.assert_array_equal(neighbourhoods.sample(SEEDS, 5).nodes, first)
    assert not np.array_equal(first, other)


def test_only_what_is_trained_with_counts(neighbourhoods):
    neighbourhoods.enter(base_rows(0, 1), [])
    sample = neighbourhoods.sample(SEEDS, 5)
    assert neighbourhoods.counters()["neighbours"] == 0
    neighbourhoods.count(sample)
    counted = neighbourhoods.counters()
    assert (counted["neighbours"], counted["neighbours_not_resident"]) == (sample.neighbours, sample.missing)
    assert counted["drawn_on_device"] == 0
    assert counted["edges_moved"] > 0
