"""Ranks that a GPU computes are the CPU's, and it is not waited for at each tile."""

import warnings
from functools import partial

import numpy as np
import pytest
import torch
from ranking_fakes import FakeBuffer, FakeEdges

from marius_lite.errors import RunError
from marius_lite.evaluate import EdgeBlock, Ranker, RankingOptions
from marius_lite.evaluate.answers import Asked, LeftOut, answer
from marius_lite.evaluate.pages import Pages
from marius_lite.evaluate.scorer import TileShape
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.model import LinkPredictionModel

pytestmark = pytest.mark.gpu
NODES, RELATIONS, DIM = 5000, 3, 8


@pytest.fixture(autouse=True)
def has_gpu():
    if not torch.cuda.is_available():
        pytest.skip("no GPU")


def world(edges):
    """A table of small integers, so that products are exact and ties are common; random edges, and a hub's."""
    rng = np.random.default_rng(0)
    table = rng.integers(-2, 3, (NODES, DIM)).astype(np.float32)
    triples = np.stack([rng.integers(0, limit, edges) for limit in (NODES, RELATIONS, NODES)], axis=1)
    triples[: edges // 4, :2] = triples[0, :2]
    return table, triples


def model_on(device):
    model = LinkPredictionModel("complex", RELATIONS, DIM, np.random.default_rng(0))
    relations = np.random.default_rng(1).integers(-2, 3, (RELATIONS, DIM)).astype(np.float32)
    model.relations = torch.nn.Parameter(torch.from_numpy(relations))
    return model.to(device)


def ranker_on(device, table, triples):
    partitioning = Partitioning(NODES, 3)
    options = RankingOptions(compared=True)
    known = [FakeEdges(triples, partitioning, 100_000)]
    return Ranker(FakeBuffer(table, partitioning, 3), partitioning, DIM, model_on(device), known, options)


def ranked_on(device, table, triples):
    return ranker_on(device, table, triples).ranked(EdgeBlock(*(column.copy() for column in triples.T)))


def answered_on(device, table, triples, questions, chosen=None):
    """The answers in one pass over the table."""
    partitioning = Partitioning(NODES, 3)
    left_out = LeftOut([FakeEdges(triples, partitioning, 100_000)], selves=True, chosen=chosen)
    asked = Asked(np.arange(questions) % 2, triples[:questions, 0].copy(), triples[:questions, 1].copy())
    pages = Pages(FakeBuffer(table, partitioning, 3), partitioning, DIM)
    return answer(pages, model_on(device), asked, 20, left_out, block=questions)


def waits(work):
    """How often the host waits for the GPU."""
    work()  # what is prepared once is prepared here
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")  # warns itself, of what it may not see
        try:
            work()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("called a synchronizing" in str(each.message) for each in told)


def test_ranks_are_those_of_the_cpu():
    table, triples = world(3000)
    for found, expected in zip(ranked_on("cuda", table, triples), ranked_on("cpu", table, triples), strict=True):
        np.testing.assert_array_equal(found, expected)


def odd(k):
    return np.array(Partitioning(NODES, 3).range(k)) % 2 == 1


@pytest.mark.parametrize("chosen", [None, odd])
def test_answers_are_those_of_the_cpu(chosen):
    found, expected = (answered_on(device, *world(3000), 200, chosen) for device in ("cuda", "cpu"))
    np.testing.assert_array_equal(found.nodes, expected.nodes)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_no_tile_is_waited_for():
    """Ten times as many tiles of questions, as often waited."""
    queries = TileShape.on(torch.device("cuda")).queries
    few, many = (waits(partial(ranked_on, "cuda", *world(edges))) for edges in (queries // 2, 5 * queries))
    assert 0 < many == few


@pytest.mark.parametrize("chosen", [None, odd])
def test_no_tile_of_answers_is_waited_for(chosen):
    """Likewise, whatever is left out."""
    queries = TileShape.on(torch.device("cuda")).queries
    table, triples = world(10 * queries)
    few, many = (waits(partial(answered_on, "cuda", table, triples, asked, chosen)) for asked in (queries, 10 * queries))
    assert 0 < many == few


def test_a_score_that_is_no_number_is_an_error():
    table, triples = world(3000)
    table[4321, 3] = np.nan
    with pytest.raises(RunError, match=r"a score of relation \d is not a number"):
        ranked_on("cuda", table, triples)
