"""A dataset whose features do not fit where the loaders are given little memory."""

import numpy as np
import pytest
import typed_graph

NODES, WIDTH = 400, 900


@pytest.fixture(scope="session")
def wide(cli, tmp_path_factory):
    """Its folder, and of raw id i, in row i: features, labels; and the edges (edges, 2). Some nodes have no edge."""
    folder, rng = tmp_path_factory.mktemp("wide"), np.random.default_rng(3)
    labels = rng.integers(4, size=NODES)
    features = (rng.normal(size=(NODES, WIDTH)) + 0.5 * np.eye(4, WIDTH)[labels]).astype(np.float32)
    src = rng.integers(NODES - 9, size=3000)
    near = [rng.choice(np.flatnonzero(labels[: NODES - 9] == labels[s])) for s in src]
    edges = np.stack([src, np.where(rng.random(3000) < 0.9, near, rng.integers(NODES - 9, size=3000))], 1)
    files = {"features": features, "labels": labels, "edges": edges, "train": rng.permutation(NODES)[:150]}
    for name, values in files.items():
        np.save(folder / f"{name}.npy", values)
    about = [part for name in ("features", "labels") for part in (f"--{name}", folder / f"{name}.npy")]
    more = ["--train-nodes", folder / "train.npy", "--adjacency", "in", "--partitions", "8", "--split", "0.9,0.05,0.05"]
    assert cli("preprocess", folder / "edges.npy", *about, *more, "--output", folder / "dataset") == 0
    return {**files, "dataset": folder / "dataset"}


@pytest.fixture(scope="session")
def typed(cli, tmp_path_factory):
    """What `typed_graph.write` returns, and datasets of it: its relations, each edge type a relation, and one relation."""
    files = typed_graph.write(tmp_path_factory.mktemp("typed"))
    relations = {
        "dataset": lambda edge_type: [edge_type[1]],
        "explicit": lambda edge_type: [typed_graph.EDGE_TYPES.index(edge_type)],
        "alone": lambda edge_type: [],
    }
    for name, relation in relations.items():
        assert cli(*typed_graph.arguments(files, name, relation)) == 0
    return {**files, **{name: files["folder"] / name for name in relations}}


@pytest.fixture(params=["in memory", "in packs"])
def memory(request, monkeypatch):
    """An argument of the loaders: memory for all features, or for some of them."""
    monkeypatch.setattr("marius_lite.config.packing.BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr("marius_lite.config.packing.LEAST_LISTS", 1 << 12)
    return {"in memory": "1GB", "in packs": "1MB"}[request.param]
