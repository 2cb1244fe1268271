"""A linear model is tried where validation nodes can be asked for, and tells what its columns say."""

import numpy as np
import pytest

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.linear_test import FEWEST, clear, linear_test


@pytest.fixture
def dataset(cli, tmp_path):
    """Nodes on a ring, the next one of the other class."""

    def write(valid):
        ring = np.arange(100)
        np.save(tmp_path / "edges.npy", np.stack([ring, (ring + 1) % 100], 1))
        np.save(tmp_path / "y.npy", ring % 2)
        splits = {"train": ring[:40], **({"valid": ring[40 : 40 + valid]} if valid else {})}
        for name, nodes in splits.items():
            np.save(tmp_path / f"{name}.npy", nodes)
        told = [f"--labels={tmp_path / 'y.npy'}", *(f"--{name}-nodes={tmp_path / name}.npy" for name in splits)]
        assert cli("preprocess", tmp_path / "edges.npy", *told, "--output", tmp_path / "data", "--adjacency", "in") == 0
        return Dataset.open(tmp_path / "data")

    return write


@pytest.mark.parametrize("valid", [0, FEWEST - 1])
def test_too_few_validation_nodes_say_nothing(dataset, valid):
    assert linear_test(dataset(valid)) is None


def test_columns_that_tell_the_class_are_all_it_takes(dataset):
    made = dataset(50)
    test = linear_test(made)
    classes = np.concatenate([made.labels.reader(k)(np.arange(made.partitioning.size(k))) for k in range(1)])
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(100, 3)).astype(np.float32)
    telling = np.where(classes == 1, 1, -1)[:, None].astype(np.float32)
    assert test.asked == 50
    assert not test.several
    assert test.of(noise, telling) == 1
    assert test.of(noise) < 0.7


def test_a_difference_is_clear_by_how_many_were_asked():
    assert clear(0.6, 0.5, 1000)
    assert not clear(0.6, 0.5, 20)
    assert clear(0.99, 0.98, 100_000), "half of the wrong answers"
    assert not clear(0.51, 0.5, 1_000_000), "a fiftieth is not much where many answers are wrong"
