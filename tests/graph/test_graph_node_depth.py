"""Where features say all, neighbours are left out."""

import logging
from dataclasses import replace

import numpy as np
from stored_nodes import stored

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.hops import tried
from marius_lite.graph.node_depth import by_itself


def test_where_features_tell_classes_nodes_are_seen_by_themselves(cli, tmp_path, caplog):
    """As in a graph of nearest neighbours of images: half of them are of another class."""
    rng, nodes = np.random.default_rng(0), 900
    y = rng.permutation(nodes) % 3
    np.save(tmp_path / "edges.npy", rng.integers(nodes, size=(5 * nodes, 2)))
    np.save(tmp_path / "x.npy", (5 * np.eye(3, 12)[y] + rng.normal(size=(nodes, 12))).astype(np.float32))
    np.save(tmp_path / "y.npy", y)
    stored(cli, tmp_path, rng.permutation(nodes), 300)
    dataset = Dataset.open(tmp_path / "d")
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    model = config.model
    assert (model.encoder, model.hops, model.normalize_features) == ("sgc", 0, "columns")
    assert (config.training.method, config.training.early_stopping) == ("layerwise", 20)
    assert "by their own features, and" in caplog.text
    for given in ("model.encoder=sage", "sampling.scope=resident", "training.method=sampled", "model.layers=[8]"):
        assert config_for(dataset, None, [given]).model.hops != 0
    seen = tried(dataset, directions=["in"])
    assert by_itself("preset:sage", {}, seen)
    assert "model.normalize_features=logs" in by_itself("preset:sage", {}, replace(seen, logs=True))
    for other in (
        replace(seen, own=0.9),
        replace(seen, own=0.96, apart=1.0),
        replace(seen, rare=True),
        replace(seen, several=True),
    ):
        assert not by_itself("preset:sage", {}, other)
    assert not by_itself("preset:gcn", {}, seen)
