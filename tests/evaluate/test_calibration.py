"""Where it is known how probable edges are by their scores, what is fitted says so of edges that it did not see."""

import numpy as np
import pytest
import torch

from marius_lite.evaluate.calibration import calibrate, scored_pairs
from marius_lite.evaluate.edges import select_edges
from marius_lite.evaluate.pages import Pages
from marius_lite.evaluate.scorer import TileShape
from marius_lite.graph.dataset import Dataset
from marius_lite.preprocess.build import preprocess
from marius_lite.preprocess.options import Options
from marius_lite.storage.resident import ResidentPartitions

NODES, DIM = 1500, 6


class Dot:
    """Scores that are products, times ``scale``; ``scale`` -1 misleads."""

    relation_count, relations = 1, torch.zeros(1)

    def __init__(self, scale=1.0):
        self.scale = scale

    def query(self, entity, rel, side):
        return entity

    def scores(self, query, candidates):
        return self.scale * query @ candidates.T


class Resident:
    """A buffer that has all rows."""

    def __init__(self, rows, partitioning):
        self.rows, self.slots, self._partitioning = rows, partitioning.partitions, partitioning

    def enter(self, now, next=()):
        return ResidentPartitions(self.rows, lambda k: k * self._partitioning.rows, self._partitioning.size, now)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A dataset, and pages of vectors. A pair of nodes is an edge with log odds 2 * product - 5."""
    folder, rng = tmp_path_factory.mktemp("planted"), np.random.default_rng(0)
    vectors = rng.normal(size=(NODES, DIM))
    vectors *= np.sqrt(2) / np.linalg.norm(vectors, axis=1, keepdims=True)
    edges = np.argwhere(rng.random((NODES, NODES)) < 1 / (1 + np.exp(5 - 2 * vectors @ vectors.T)))
    np.savetxt(folder / "edges.tsv", edges, "%d", delimiter="\t")
    split = {"columns": "src,dst", "split": "0.8,0.1,0.1", "partitions": 3}
    preprocess(Options.parse(edges=[str(folder / "edges.tsv")], output=folder / "dataset", **split))
    dataset = Dataset.open(folder / "dataset")
    rows = vectors[dataset.raw_ids(0, NODES).to_pylist()].astype(np.float32)
    return dataset, Pages(Resident(rows, dataset.partitioning), dataset.partitioning, DIM)


def fitted(planted, scorer, seed=0):
    dataset, pages = planted
    return calibrate(pages, scorer, dataset.edges("valid"), [dataset.edges(split) for split in dataset.manifest.edges], seed)


def figures(planted, scorer):
    """Scores of test edges, and of as many pairs that are none, drawn by another seed."""
    dataset, pages = planted
    edges = next(select_edges(dataset.edges("test"), 10_000, 1, 10_000))
    return scored_pairs(pages, scorer, edges, [dataset.edges(split) for split in dataset.manifest.edges], 1)


def test_scores_come_from_products_of_the_shape_that_answers_come_from(planted, monkeypatch):
    """Else they have other bits."""
    monkeypatch.setattr(TileShape, "on", classmethod(lambda cls, device: cls(64, 160, 320)))
    dot, shapes = Dot(), set()
    monkeypatch.setattr(dot, "scores", lambda *of: shapes.add(tuple(map(len, of))) or Dot.scores(dot, *of))
    figures(planted, dot)
    assert shapes == {(64, 160)}


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_probabilities_are_shares(planted, scale):
    scaling = fitted(planted, Dot(scale))
    true, false = figures(planted, Dot(scale))
    assert len(true) == len(false) > 3000
    chances = scaling.probability(np.concatenate([true, false]))
    happened = np.repeat([1, 0], [len(true), len(false)])
    bins = np.digitize(chances, np.linspace(0, 1, 11)[1:-1])
    error = sum(abs((happened - chances)[bins == each].sum()) for each in range(10)) / len(chances)
    assert error < 0.025  # the expected calibration error
    assert chances.std() > 0.15  # it tells pairs apart
    assert scaling.slope * scale == pytest.approx(2, rel=0.15)


def test_the_same_seed_gives_the_same_bits_and_misleading_scores_one_half(planted, caplog):
    assert fitted(planted, Dot()) == fitted(planted, Dot())
    assert fitted(planted, Dot()) != fitted(planted, Dot(), seed=1)
    assert fitted(planted, Dot(-1)) == (0, 0)
    assert "score no higher than random ones: all are 0.5" in caplog.text


def test_no_known_edge_is_taken_for_a_random_one(planted):
    """A score that is 1 for known edges, else 0, tells."""
    dataset, pages = planted
    splits = [dataset.edges(split) for split in dataset.manifest.edges]
    blocks = [block for split in splits for block in select_edges(split, None, 0)]
    known = torch.zeros(NODES, NODES)
    for block in blocks:
        known[block.src, block.dst] = 1

    class Known(Dot):
        def query(self, entity, rel, side):
            return entity + 2 * NODES * side

        def scores(self, query, candidates):
            side, node = query[:, :1] >= 2 * NODES, query[:, 0].long() % (2 * NODES)
            other = candidates[:, 0].long()
            return torch.where(side, known[other][:, node].T, known[node][:, other])

    numbers = np.arange(dataset.partitioning.partitions * dataset.partitioning.rows, dtype=np.float32)[:, None]
    pages = Pages(Resident(numbers, dataset.partitioning), dataset.partitioning, 1)
    true, false = scored_pairs(pages, Known(), next(select_edges(splits[1], 2000, 0, 2000)), splits, 0)
    assert (true.min(), false.max()) == (1, 0)
