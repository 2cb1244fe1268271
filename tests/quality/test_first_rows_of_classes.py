"""Classes of nodes without features: most nodes are met by no training node, so rows must say where nodes are from the start."""

import numpy as np

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.tasks.evaluate_run import evaluate_run
from marius_lite.train.run import train_run

NODES, CLASSES, TRAINED, VALIDATED = 1200, 4, 16, 100


def communities(folder, cli):
    """A dataset more than half of whose links stay in a community."""
    rng = np.random.default_rng(0)
    classes = rng.permutation(NODES) % CLASSES
    src = rng.integers(0, NODES, 5 * NODES)
    inside = rng.random(len(src)) < 0.6
    dst = np.where(inside, 0, rng.integers(0, NODES, len(src)))
    for each in range(CLASSES):
        of_class = inside & (classes[src] == each)
        dst[of_class] = rng.choice(np.flatnonzero(classes == each), of_class.sum())
    np.save(folder / "edges.npy", np.stack([src, dst], 1))
    np.save(folder / "y.npy", classes)
    options, nodes = ["--labels", folder / "y.npy", "--undirected", "--adjacency", "in"], rng.permutation(NODES)
    for name, part in zip(("train", "valid", "test"), np.split(nodes, [TRAINED, TRAINED + VALIDATED])):
        np.save(folder / f"{name}.npy", part)
        options += [f"--{name}-nodes", folder / f"{name}.npy"]
    assert cli("preprocess", folder / "edges.npy", "--output", folder / "data", "--partitions", "4", *options) == 0
    return Dataset.open(folder / "data")


def test_nodes_far_from_those_of_training_are_told_right(tmp_path, cli):
    dataset = communities(tmp_path, cli)
    found = []
    for sets in ([], ["init.hops=0"]):
        run = tmp_path / f"run{len(found)}"
        train_run(dataset.path, run, config_for(dataset, None, ["training.threads=1", *sets]))
        found.append(evaluate_run(run, "test")["accuracy"])
    assert found[0] > 0.9
    assert found[1] < found[0] - 0.1
