"""The answers to questions are the best of all nodes that are not left out, whatever the partitions and the tiles."""

import numpy as np
import pytest
import torch
from no_waits import NoWaits
from pretended_gpu import pretended_gpu
from ranking_fakes import FakeBuffer, FakeEdges

from marius_lite.evaluate import scorer as scoring
from marius_lite.evaluate.answers import Asked, LeftOut, answer
from marius_lite.evaluate.pages import Pages
from marius_lite.evaluate.scorer import TileShape
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.model import LinkPredictionModel

NODES, RELATIONS, DIM, TOPK = 61, 2, 6, 9


def world():
    """A table and a model of small integers, so that ties are common; known edges in every tile of each question; questions."""
    rng = np.random.default_rng(1)
    table = rng.integers(-2, 3, (NODES, DIM)).astype(np.float32)
    scorer = LinkPredictionModel("distmult", RELATIONS, 2, rng)
    scorer.relations = torch.nn.Parameter(torch.from_numpy(rng.integers(-2, 3, (RELATIONS, DIM)).astype(np.float32)))
    known = np.stack([rng.integers(0, limit, 900) for limit in (NODES, RELATIONS, NODES)], 1)
    return table, scorer, known, Asked(*(rng.integers(0, limit, 40) for limit in (2, NODES, RELATIONS)))


def expected(scorer, table, asked, known, selves, topk=TOPK):
    true, rows = {tuple(edge) for edge in known.tolist()}, torch.from_numpy(table)
    nodes = np.full((len(asked.node), topk), -1)
    for at, (side, node, rel) in enumerate(zip(*asked)):
        scores = scorer.scores(scorer.query(rows[[node]], torch.tensor([rel]), int(side)), rows)[0].tolist()
        gone = {c for c in range(NODES) if ((node, rel, c) if side == 0 else (c, rel, node)) in true} | (
            {node} if selves else set()
        )
        left = [c for c in range(NODES) if c not in gone]
        nodes[at, : len(left)] = sorted(left, key=lambda c: -scores[c])[:topk]
    return nodes


@pytest.mark.parametrize("shape", [None, (5, 4, 8), (3, 7, 7)])
@pytest.mark.parametrize("selves", [False, True])
def test_the_best_nodes_but_known_answers(shape, selves, monkeypatch):
    """Each question has known answers in every tile."""
    if shape:
        monkeypatch.setattr(TileShape, "on", classmethod(lambda cls, device: cls(*shape)))
    table, scorer, known, asked = world()
    partitioning = Partitioning(NODES, 4)
    pages = Pages(FakeBuffer(table, partitioning), partitioning, DIM)
    found = answer(pages, scorer, asked, TOPK, LeftOut([FakeEdges(known, partitioning)], selves))
    np.testing.assert_array_equal(found.nodes, expected(scorer, table, asked, known, selves))


def test_no_tile_is_waited_for(monkeypatch):
    """With all that can be left out, where tensors say that they are on a GPU."""
    monkeypatch.setattr(TileShape, "on", classmethod(lambda cls, device: cls(5, 4, 8)))
    monkeypatch.setattr(scoring, "check_numbers", lambda scores, rel: None)  # which a GPU does without waiting
    table, scorer, known, asked = world()
    partitioning = Partitioning(NODES, 4)
    pages = Pages(FakeBuffer(table, partitioning), partitioning, DIM)
    even = LeftOut([FakeEdges(known, partitioning)], True, lambda k: np.array(partitioning.range(k)) % 2 == 0)
    with pretended_gpu(None), NoWaits():
        found = answer(pages, scorer, asked, TOPK, even)
    every = expected(scorer, table, asked, known, True, NODES)
    for nodes, those in zip(found.nodes.tolist(), every.tolist(), strict=True):
        those = [node for node in those if node >= 0 and node % 2 == 0][:TOPK]
        assert nodes == those + [-1] * (TOPK - len(those))
