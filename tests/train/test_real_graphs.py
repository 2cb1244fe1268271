"""Layer-wise inference over real graphs, from their files through `preprocess`, against torch_geometric's full-batch models."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from marius_lite.evaluate.inference import infer
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.encoders import EncoderShape, make_encoder
from marius_lite.sampling.neighbours import true_degrees

models = pytest.importorskip("torch_geometric.nn.models", reason="graph neural networks need the extra `gnn`")
SHARED = Path(os.environ.get("MARIUS_SHARED", Path(__file__).parents[2] / "../shared"))
HIDDEN, CLASSES = 16, 7
MODELS = {"sage": (models.GraphSAGE, {}), "gcn": (models.GCN, {}), "gat": (models.GAT, {"v2": True, "heads": 2})}


def archive(name):
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def dense_features(data):
    """(nodes, width) float32, of the archive's sparse rows."""
    x = np.zeros(data["feat_shape"], np.float32)
    x[np.repeat(np.arange(len(x)), np.diff(data["feat_indptr"])), data["feat_indices"]] = data["feat_data"]
    return torch.from_numpy(x)


# torch_geometric's GraphSAGE and GAT would hold a row of 8,415 numbers for each of coauthor-physics' half a million edges.
@pytest.mark.parametrize(
    ("name", "partitions", "encoders"),
    [
        ("cora/cora.npz", 4, ["sage", "gcn", "gat"]),
        pytest.param("coauthor-physics/coauthor_physics.npz", 16, ["gcn"], marks=pytest.mark.slow),  # 1.1 GB of features
    ],
)
def test_vectors_are_those_of_the_full_batch(cli, tmp_path, name, partitions, encoders):
    path = archive(name)
    assert (
        cli(
            "preprocess",
            path,
            "--output",
            tmp_path / "dataset",
            "--features",
            path,
            "--labels",
            path,
            "--node-split",
            "0.1,0.1,0.8",
            "--partitions",
            partitions,
            "--memory",
            "300MB",
        )
        == 0
    )
    dataset, data = Dataset.open(tmp_path / "dataset"), np.load(path)
    x, edges = dense_features(data), torch.from_numpy(data["edges"].astype(np.int64).T)
    raw = dataset.raw_ids(0, dataset.manifest.nodes).to_numpy()
    for encoder in encoders:
        kind, options = MODELS[encoder]
        torch.manual_seed(0)
        ours = make_encoder(encoder, EncoderShape(x.shape[1], [HIDDEN, CLASSES], heads=options.get("heads", 1)))
        theirs = kind(x.shape[1], HIDDEN, 2, CLASSES, **options).eval()
        theirs.load_state_dict(ours.state_dict())
        degrees = true_degrees(dataset.adjacency, dataset.partitioning) if encoder == "gcn" else None
        table = infer(ours, dataset.features, dataset.adjacency, dataset.partitioning, 200 << 20, tmp_path / encoder, degrees)
        found = np.concatenate([table.read_rows(k, np.arange(table.size(k)), slice(0, CLASSES)) for k in range(partitions)])
        with torch.no_grad():
            expected = theirs(x, edges).numpy()[raw]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
