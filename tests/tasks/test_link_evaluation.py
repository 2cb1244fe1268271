"""Ranking a split: a sample of edges, the query node as asked, and a warning where nodes answer themselves too often."""

from contextlib import closing

import pytest

from marius_lite.graph.dataset import Dataset
from marius_lite.tasks.link_evaluation import RankedEdges, evaluate_split, warn_of_chance, warn_of_self_answers
from marius_lite.tasks.opened_links import open_run


@pytest.fixture
def evaluate(link_run):
    with closing(open_run(link_run, None)) as opened:
        yield lambda *arguments, **options: evaluate_split(
            opened.dataset, opened.buffer, opened.model, opened.config, RankedEdges(*arguments, **options)
        )


def test_all_edges_or_so_many_of_them(evaluate):
    assert evaluate("test", None)["count"] == 232
    assert evaluate("test", 50)["count"] == 50
    assert evaluate("test", 50) == evaluate("test", 50)
    assert evaluate("test", 1000) == evaluate("test", None)


def test_figures_with_and_without_the_query_node_stand_side_by_side(evaluate):
    apart = {excluded: evaluate("test", None, excluded) for excluded in (False, True)}
    beside = evaluate("test", None, True, compared=True)
    assert beside["mrr"] == apart[True]["mrr"]
    assert beside["with_self"]["mrr"] == apart[False]["mrr"]
    assert apart[True]["mrr"] >= apart[False]["mrr"]
    assert evaluate("test", None)["mrr"] == apart[False]["mrr"], "here one training edge in 200 is a self-loop"


@pytest.mark.parametrize(
    ("share", "query_node", "told"),
    [(0.5, "left_out", "left out here"), (0.5, "candidate", "--exclude-self"), (0.01, "candidate", ""), (None, "candidate", "")],
)
def test_nodes_that_answer_themselves_are_warned_of(tiny_dataset, caplog, share, query_node, told):
    warn_of_self_answers({"self_best": share, "query_node": query_node}, Dataset.open(tiny_dataset))
    assert told in caplog.text
    assert bool(caplog.records) == bool(told)


@pytest.mark.parametrize(
    ("rank", "candidates", "told"), [(460.0, 1000, True), (440.0, 1000, False), (46.0, 99, False), (None, 1000, False)]
)
def test_ranks_as_by_chance_are_warned_of(caplog, rank, candidates, told):
    warn_of_chance({"mean_rank": rank}, candidates)
    assert ("hardly better than chance" in caplog.text) == told
