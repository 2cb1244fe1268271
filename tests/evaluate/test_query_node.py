"""Ranks with the query node left out, and how often it is the best answer, equal naive counts; so do predictions without it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_fakes import FakeBuffer, FakeEdges

from marius_lite.evaluate import EdgeBlock, Ranker, RankingOptions, rank
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.model import LinkPredictionModel

NODES, RELATIONS, DIM = 23, 2, 4


def world(seed, edges=60):
    """Small integers, so that scores are exact and ties common; some self-loops; dot of a node with itself is often its best."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-2, 3, (NODES, DIM)).astype(np.float32)
    triples = np.stack([rng.integers(0, limit, edges) for limit in (NODES, RELATIONS, NODES)], axis=1)
    triples[:3, 2] = triples[:3, 0]
    rng.shuffle(triples)
    model = LinkPredictionModel("distmult", RELATIONS, DIM, rng)
    model.relations = torch.nn.Parameter(torch.from_numpy(rng.integers(0, 3, model.relations.shape).astype(np.float32)))
    return table, model, triples


def naive(table, model, triples, asked, candidates):
    """(ranks without the query node, whether it is the best answer), one question at a time."""
    true, rows = {tuple(edge) for edge in triples.tolist()}, torch.from_numpy(table)
    ranks, best = np.empty((2, len(asked))), np.empty((2, len(asked)), bool)
    for at, (s, r, t) in enumerate(asked.tolist()):
        for side, (node, answer) in enumerate(((s, t), (t, s))):
            scores = model.scores(model.query(rows[[node]], torch.tensor([r]), side), rows)[0].tolist()
            known = {c for c in range(NODES) if ((s, r, c) if side == 0 else (c, r, t)) in true}
            others = [scores[c] for c in candidates if c not in known | {answer, node}]
            ranks[side, at] = 1 + sum(o > scores[answer] for o in others) + sum(o == scores[answer] for o in others) / 2
            may = node in candidates and node not in known | {answer}
            best[side, at] = may and all(scores[node] > other for other in [*others, scores[answer]])
    return ranks, best


@given(st.integers(0, 1000), st.integers(1, 6), st.sampled_from([None, 9]))
@settings(max_examples=20, deadline=None)
def test_equal_to_one_question_at_a_time(seed, p, count):
    table, model, triples = world(seed)
    asked, partitioning = triples[:20], Partitioning(NODES, p)
    ranker, published = (
        Ranker(
            FakeBuffer(table, partitioning),
            partitioning,
            DIM,
            model,
            [FakeEdges(triples, partitioning)],
            RankingOptions(candidates=count, seed=seed, compared=compared),
        )
        for compared in (True, False)
    )
    chosen = range(NODES) if count is None else ranker._candidates._chosen.tolist()
    ranks, best = naive(table, model, triples, asked, set(chosen))
    block = EdgeBlock(*(column.copy() for column in asked.T))
    found = ranker.ranked(block)
    np.testing.assert_array_equal(found.without_self, ranks)
    np.testing.assert_array_equal(found.self_best, best)
    np.testing.assert_array_equal(found.ranks, published.ranks(block))  # as it was without the comparison


@pytest.mark.parametrize("query_node", ["candidate", "left_out"])
@pytest.mark.parametrize("compared", [False, True])
def test_figures_of_both_kinds(query_node, compared):
    table, model, triples = world(1)
    partitioning = Partitioning(NODES, 3)
    known = [FakeEdges(triples, partitioning)]
    block = EdgeBlock(*(column.copy() for column in triples.T))

    def figures(**options):
        return rank(FakeBuffer(table, partitioning), partitioning, DIM, model, block.split(7), known, RankingOptions(**options))

    published, result = figures(), figures(query_node=query_node, compared=compared)
    assert "self_best" not in published
    ranks, best = naive(table, model, triples, triples, set(range(NODES)))
    expected = {
        "with_self": {name: published[name] for name in ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank")},
        "without_self": {"mrr": (1 / ranks).mean(), "hits@1": (ranks <= 1).mean(), "mean_rank": ranks.mean()},
    }
    assert expected["without_self"]["mrr"] > published["mrr"]
    main, other = ("without_self", "with_self") if query_node == "left_out" else ("with_self", "without_self")
    for name, value in expected[main].items():
        assert result[name] == pytest.approx(value)
    assert main not in result
    assert (other in result) == compared
    for name, value in expected[other].items() if compared else ():
        assert result[other][name] == pytest.approx(value)
    if compared or query_node == "left_out":
        assert result["query_node"] == query_node
        assert result["self_best"] == pytest.approx(best.mean())
