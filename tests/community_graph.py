"""A small attributed graph: communities whose features say little of one node and much of its neighbourhood."""

import numpy as np

NODES, CLASSES, WIDTH = 600, 4, 12
SPLITS = ("train", "valid", "test")
SEVERAL = np.array([[1, 0, 1, 0, 0], [0, 1, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 0, 0, 0]])
"""Which classes the nodes of each community have, where they may have any number: the last class is nobody's."""


def write_several(folder, seed=0):
    """As `write`, but the label of a node is a row of 0 and 1, one time in fifty turned round."""
    told = write(folder, seed)
    labels, rng = SEVERAL[np.load(folder / "labels.npy")], np.random.default_rng(seed + 1)
    np.save(folder / "labels.npy", labels ^ (rng.random(labels.shape) < [[0.02] * 4 + [0]]))
    return told


def write(folder, seed=0):
    """Edge, feature, label and node files in ``folder``; the arguments of preprocess."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=NODES)
    src = rng.integers(NODES, size=8 * NODES)
    near = [rng.choice(np.flatnonzero(labels == labels[s])) for s in src]
    dst = np.where(rng.random(len(src)) < 0.85, near, rng.integers(NODES, size=len(src)))
    features = rng.normal(size=(NODES, WIDTH)) + 0.7 * np.eye(CLASSES, WIDTH)[labels]
    order = rng.permutation(NODES)
    np.save(folder / "edges.npy", np.stack([src, dst], 1))
    np.save(folder / "features.npy", features.astype(np.float16))
    np.save(folder / "labels.npy", labels)
    for name, part in zip(SPLITS, np.split(order, [120, 300])):
        np.save(folder / f"{name}.npy", part)
    return arguments(folder)


def arguments(folder, features="features.npy"):
    """The arguments of preprocess for the files in ``folder``, with these ``features``."""
    named = {"--features": features, "--labels": "labels.npy", **{f"--{part}-nodes": f"{part}.npy" for part in SPLITS}}
    return [folder / "edges.npy", "--undirected", *(each for name, file in named.items() for each in (name, folder / file))]
