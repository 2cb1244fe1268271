"""A linear model is tried where validation nodes can be asked for, and tells what its columns say."""

import numpy as np
import pytest

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.linear_test import FEWEST, RANKED, SHRINKAGES, LinearTest, clear, linear_test


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


@pytest.mark.parametrize(("trained", "size", "strong"), [(60, 1.5, True), (1500, 0.1, False)])
def test_shrinkage_hides_columns_that_are_small_beside_others(trained, size, strong):
    rng, nodes = np.random.default_rng(0), np.arange(trained + 600)
    y = rng.integers(2, size=len(nodes))
    rows = rng.normal(size=(len(nodes), 300))
    rows[:, 0] = size * (np.where(y, 1, -1) + 0.5 * rows[:, 0])
    classes = np.eye(2, dtype=np.float32)[y]
    test = LinearTest(nodes[:trained], nodes[trained:], classes[:trained], classes[trained:])
    found = {test.shrinkage((scale * rows + 7).astype(np.float32)) for scale in (0.1, 1, 1000)}
    assert found == {SHRINKAGES[-1]} if strong else max(found) < SHRINKAGES[-1]


def test_a_difference_is_clear_by_how_many_were_asked():
    assert clear(0.6, 0.5, 1000)
    assert not clear(0.6, 0.5, 20)
    assert clear(0.99, 0.98, 100_000), "half of the wrong answers"
    assert not clear(0.51, 0.5, 1_000_000), "a fiftieth is not much where many answers are wrong"


def test_where_a_class_is_rare_models_are_judged_by_how_they_rank():
    rng = np.random.default_rng(1)
    classes = np.eye(2, dtype=np.float32)[(np.arange(400) % 20 == 0).astype(int)]
    test = LinearTest(np.arange(200), np.arange(200, 400), classes[:200], classes[200:])
    assert test.rare
    assert test.asked == 10 * RANKED
    weak = (classes[:, 1:] + rng.normal(size=(400, 1))).astype(np.float32)
    noise = rng.normal(size=(400, 1)).astype(np.float32)
    assert test.of(classes[:, 1:]) == 1
    assert test.of(noise) < 0.7 < test.of(weak) < 0.95
    ring = rng.normal(size=(400, 2)).astype(np.float32)
    ring[classes[:, 1] > 0] *= 4 / np.linalg.norm(ring[classes[:, 1] > 0], axis=1, keepdims=True)
    assert test.of(ring) > 0.9, "what is rare is around all others: no plane tells it"
    even = np.eye(2, dtype=np.float32)[np.arange(400) % 2]
    assert not LinearTest(np.arange(200), np.arange(200, 400), even[:200], even[200:]).rare


def test_where_ranks_are_nearly_all_right_precisions_tell_models_apart():
    """Of two numbers that rank alike but for few nodes, one has these among all that are wanted."""
    rng = np.random.default_rng(3)
    classes = np.eye(2, dtype=np.float32)[(np.arange(4000) % 100 == 0).astype(int)]
    test = LinearTest(np.arange(2000), np.arange(2000, 4000), classes[:2000], classes[2000:])
    good = (classes[:, 1:] * 10 + rng.random((4000, 1))).astype(np.float32)
    some = (rng.random((4000, 1)) < 0.02) & (classes[:, 1:] == 0)
    worse = np.where(some, good + np.float32(10), good)
    assert test.of(good) == test.by_precision().of(good) == 1
    assert 0.97 < test.of(worse) < 1
    assert test.by_precision().of(worse) < 0.75
    assert not test.precise
    assert test.by_precision().placed(np.arange(4000)).of(worse) == test.by_precision().of(worse)


def test_nodes_of_a_rare_class_come_first_as_long_as_it_stays_rare(cli, tmp_path):
    rng, nodes = np.random.default_rng(4), 6000
    y = np.where(rng.random(nodes) < 0.02, 1, 0)
    ring, half = np.arange(nodes), rng.permutation(nodes)
    np.save(tmp_path / "edges.npy", np.stack([ring, (ring + 1) % nodes], 1))
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "x.npy", rng.normal(size=(nodes, 2)).astype(np.float32))
    given = [f"--labels={tmp_path / 'y.npy'}", f"--features={tmp_path / 'x.npy'}", "--adjacency=in", f"--output={tmp_path / 'd'}"]
    for name, part in (("train", half[:3000]), ("valid", half[3000:])):
        np.save(tmp_path / f"{name}.npy", part)
        given.append(f"--{name}-nodes={tmp_path / name}.npy")
    assert cli("preprocess", tmp_path / "edges.npy", *given) == 0
    test = linear_test(Dataset.open(tmp_path / "d"), 400)
    assert test.rare
    assert test.asked == RANKED * 32, "of 60 or so, where 400 of all nodes would have 8"
    assert len(np.unique(test.valid)) == len(test.valid) == 400
    assert (np.diff(test.train) > 0).all()


@pytest.mark.parametrize(("others", "classes", "rare"), [(0.17, 2, True), (0.25, 2, False), (0.17, 3, False), (0.05, 3, True)])
def test_of_two_classes_one_is_rare_sooner_than_of_several(others, classes, rare):
    known = np.zeros((400, classes), np.float32)
    few = np.arange(400) % 100 < 100 * others
    known[np.arange(400), np.where(few, 1 + np.arange(400) % (classes - 1), 0)] = 1
    assert LinearTest(np.arange(200), np.arange(200, 400), known[:200], known[200:]).rare == rare


@pytest.mark.parametrize("every", [2, 40], ids=["even", "rare"])
def test_where_few_are_asked_training_nodes_are_too(every):
    """Each by models that do not know it: columns that say which node it is tell nothing of its class."""
    rng, nodes = np.random.default_rng(2), 800
    classes = np.eye(2, dtype=np.float32)[(rng.permutation(nodes) % every == 0).astype(int)]
    test = LinearTest(np.arange(700), np.arange(700, nodes), classes[:700], classes[700:])
    assert test.rare == (every == 40)
    assert test.asked == (20 * RANKED if test.rare else nodes)
    weak = (classes[:, 1:] + rng.normal(size=(nodes, 1))).astype(np.float32)
    assert test.of(np.eye(nodes, dtype=np.float32)) < 0.65 < test.of(weak) < 0.9
    assert test.of(classes[:, 1:]) == 1
    among = LinearTest(np.arange(700) * 2, np.arange(700, nodes) * 2, classes[:700], classes[700:]).placed(np.arange(nodes) * 2)
    assert among.of(weak) == test.of(weak)
    assert LinearTest(test.train[:50], test.valid, classes[:50], classes[700:]).asked <= 100, "training nodes are fewer"


def test_random_units_tell_what_columns_say_together():
    """The class is whether two columns have the same sign: of each alone, and of sums, it is independent."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3)).astype(np.float32)
    classes = np.eye(2, dtype=np.float32)[(x[:, 0] * x[:, 1] > 0).astype(int)]
    train, valid = np.arange(2000), np.arange(2000, 3000)
    test = LinearTest(train, valid, classes[train], classes[valid])
    assert test.of(x) < 0.6
    assert test.of(x, hidden=True) > 0.9
    assert test.of(x, hidden=True) == test.of(x, hidden=True)
