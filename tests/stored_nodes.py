"""Make a dataset whose nodes have features and classes, from arrays."""

import numpy as np


def stored(cli, folder, order, size, features=True):
    """Make a dataset of edges.npy, x.npy and y.npy. The first nodes in ``order`` are trained, as many next ones are validated."""
    given = [*([f"--features={folder / 'x.npy'}"] * features), f"--labels={folder / 'y.npy'}", "--adjacency=in"]
    for name, part in (("train", order[:size]), ("valid", order[size : 2 * size])):
        np.save(folder / f"{name}.npy", part)
        given.append(f"--{name}-nodes={folder / name}.npy")
    assert cli("preprocess", folder / "edges.npy", *given, "--output", folder / "d") == 0
