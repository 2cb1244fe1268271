"""Graphs that have no structure but how many edges a node has: popularity is then all that can be learned.

An oracle ranks every question alike, by the nodes' expected degrees. A model that learns single edges falls far below it.
"""

import numpy as np
import pytest

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.tasks.evaluate_run import evaluate_run
from marius_lite.train.run import train_run

NODES, EDGES = 2000, 16_000
SHORT = ["training.epochs=12", "training.threads=1"]


@pytest.fixture(scope="module")
def chance(request, tmp_path_factory, cli):
    """A dataset of edges whose ends are drawn in proportion to weights, which fall by a power law."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("chance")
    weights = (np.arange(NODES) + 10.0) ** -0.7
    ends = [rng.choice(NODES, EDGES, p=weights / weights.sum()) for _ in range(2)]
    if request.param == "directed":
        ends[1] = rng.permutation(NODES)[ends[1]]
    edges = np.unique(np.stack(ends, 1)[ends[0] != ends[1]], axis=0)
    np.savetxt(folder / "edges.tsv", edges, "%d", delimiter="\t")
    options = ["--undirected"] if request.param == "undirected" else []
    assert cli("preprocess", folder / "edges.tsv", "--output", folder / "data", "--split", "0.9,0.05,0.05", *options) == 0
    return folder / "data"


def edges_of(dataset, split):
    edges = dataset.edges(split)
    (columns,) = edges.stream_columns(0, 0, 1 << 20, ("src", "dst"))
    return np.stack(columns, 1).astype(np.int64)


def popularity(dataset):
    """The filtered MRR of the test edges where answers are ranked by how often training edges have them at that end."""
    splits = {split: edges_of(dataset, split) for split in ("train", "valid", "test")}
    known, ranks = np.zeros((dataset.manifest.nodes,) * 2, bool), []
    for edges in splits.values():
        known[edges[:, 0], edges[:, 1]] = True
    for side, true in ((0, known), (1, known.T)):
        scores = np.bincount(splits["train"][:, 1 - side], minlength=len(known))
        for asked, answer in splits["test"][:, [side, 1 - side]]:
            others = np.delete(scores, np.union1d(np.flatnonzero(true[asked]), [asked, answer]))
            ranks.append(1 + (others > scores[answer]).sum() + (others == scores[answer]).sum() / 2)
    return float((1 / np.array(ranks)).mean())


@pytest.mark.parametrize("chance", ["undirected", "directed"], indirect=True)
def test_without_settings_popularity_is_learned(chance, tmp_path):
    dataset = Dataset.open(chance)
    train_run(chance, tmp_path / "run", config_for(dataset, None, SHORT))
    assert evaluate_run(tmp_path / "run", "test")["mrr"] > 0.85 * popularity(dataset)


@pytest.mark.parametrize("chance", [pytest.param("undirected", marks=pytest.mark.slow), "directed"], indirect=True)
def test_without_biases_it_is_not(chance, tmp_path):
    """The bound above is not met by just anything."""
    dataset = Dataset.open(chance)
    train_run(chance, tmp_path / "run", config_for(dataset, None, [*SHORT, "model.biases=false"]))
    assert evaluate_run(tmp_path / "run", "test")["mrr"] < 0.7 * popularity(dataset)
