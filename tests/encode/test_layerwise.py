"""The rows that layers are trained on, out of core, against products in memory."""

import numpy as np
import pytest
import torch
from whole_graph import matrix

from marius_lite.config.load import load
from marius_lite.encode.layerwise import Layers, LayerScores
from marius_lite.graph import Dataset
from marius_lite.nn.encoders import EncoderShape, make_encoder
from marius_lite.tasks.resolved import resolved

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

LAYERS, CLASSES = [10, 4], 4


@pytest.mark.parametrize("memory", ["2GB", "1MB"], ids=["in memory", "on disk"])
@pytest.mark.parametrize("name", ["gcn", "sage"])
def test_they_equal_products_in_memory(communities, tmp_path, monkeypatch, name, memory):
    monkeypatch.setattr("marius_lite.config.memory.EVALUATION_BYTES", 1)
    dataset = Dataset.open(communities)
    sets = [f"model.encoder={name}", "model.layers=[10]", "training.method=layerwise", f"storage.memory={memory}"]
    config, _ = resolved(dataset, load(sets=["task=node_classification", "storage.capacity=2", *sets]))
    torch.manual_seed(0)
    encoder = make_encoder(name, EncoderShape(dataset.features.width, LAYERS, dropout=0.5))
    p, layers = dataset.partitioning, Layers(dataset, config, encoder, CLASSES, tmp_path)
    product, x = matrix(dataset, name), np.concatenate([dataset.features.values(k) for k in range(p.partitions)])
    for place in range(len(LAYERS)):
        gathered, layer = layers.at(place)
        assert layers.at(place)[1] is layer  # not passed again
        expected = product @ x
        expected = np.concatenate([expected, x], 1) if name == "sage" else expected
        found = np.concatenate([gathered.features.values(k) for k in range(p.partitions)])
        assert np.abs(found - expected).max() < 1e-5
        scores = LayerScores(gathered, layer).read_rows(1, np.array([0, 3, 7]), slice(1, CLASSES))
        with torch.no_grad():
            rows = torch.from_numpy(found)
            assert np.allclose(layer.eval().scores(rows)[p.rows + np.array([0, 3, 7]), 1:], scores, atol=1e-5)
            x = layer.results(rows).numpy()
        assert [path.name for path in tmp_path.iterdir()] == [f"layer-{place}"]


@pytest.mark.parametrize("memory", ["2GB", "1MB"], ids=["in memory", "on disk"])
@pytest.mark.parametrize("name", ["sgc", "sign"])
def test_hops_equal_powers_in_memory(communities, tmp_path, monkeypatch, name, memory):
    monkeypatch.setattr("marius_lite.config.memory.EVALUATION_BYTES", 1)
    dataset, hops = Dataset.open(communities), 3
    sets = [f"model.encoder={name}", f"model.hops={hops}", "training.method=layerwise", f"storage.memory={memory}"]
    config, _ = resolved(dataset, load(sets=["task=node_classification", "storage.capacity=2", *sets]))
    model = make_encoder(name, EncoderShape(dataset.features.width, [CLASSES], hops=hops))
    gathered, layer = Layers(dataset, config, model, CLASSES, tmp_path).at(0)
    every = range(dataset.partitioning.partitions)
    product, expected = matrix(dataset, "gcn"), [np.concatenate([dataset.features.values(k) for k in every])]
    for _ in range(hops):
        expected.insert(0, product @ expected[0])
    found = np.concatenate([gathered.features.values(k) for k in every])
    assert np.abs(found - (np.concatenate(expected, 1) if name == "sign" else expected[0])).max() < 1e-5
    assert layer.in_width == found.shape[1]
