"""A small dataset that tests may spoil."""

import numpy as np
import pytest

from marius_lite.graph import Dataset
from marius_lite.preprocess import Options, preprocess


@pytest.fixture(scope="session")
def edge_file(tmp_path_factory):
    """3,000 edges with relations among about 200 nodes."""
    path = tmp_path_factory.mktemp("edges") / "e.tsv"
    rows = np.random.default_rng(5).integers(0, 200, (3000, 3)) % [200, 4, 200]
    np.savetxt(path, rows, "n%d\tr%d\tn%d")
    return path


@pytest.fixture
def classified(cli, tmp_path):
    """Write edges (source, destination and perhaps more columns) and classes of nodes: a fifth is trained, and a third for
    validation."""

    def write(edges, classes, *options):
        order = np.random.default_rng(1).permutation(len(classes))
        np.save(tmp_path / "edges.npy", np.column_stack(edges))
        np.save(tmp_path / "y.npy", classes)
        for name, nodes in (("train", order[: len(order) // 5]), ("valid", order[len(order) // 5 : len(order) // 2])):
            np.save(tmp_path / f"{name}.npy", nodes)
        given = [f"--{name}-nodes={tmp_path / name}.npy" for name in ("train", "valid")]
        told = [f"--labels={tmp_path / 'y.npy'}", *given, "--output", tmp_path / "data", "--partitions", "3", "--adjacency", "in"]
        assert cli("preprocess", tmp_path / "edges.npy", *told, *options) == 0
        return Dataset.open(tmp_path / "data")

    return write


@pytest.fixture
def dataset(edge_file, tmp_path):
    preprocess(Options.parse(edges=[str(edge_file)], output=tmp_path / "d", partitions=3, split="0.8,0.1,0.1"))
    return Dataset.open(tmp_path / "d")
