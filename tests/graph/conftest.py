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
def dataset(edge_file, tmp_path):
    preprocess(Options.parse(edges=[str(edge_file)], output=tmp_path / "d", partitions=3, split="0.8,0.1,0.1"))
    return Dataset.open(tmp_path / "d")
