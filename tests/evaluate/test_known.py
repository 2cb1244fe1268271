"""Known answers against a set of triples, within memory that the graph's size does not touch."""

import tracemalloc

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_fakes import FakeEdges

from marius_lite.evaluate import EdgeBlock
from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.known import KnownAnswers
from marius_lite.evaluate.queries import Queries
from marius_lite.graph.edges import EdgePiece
from marius_lite.graph.partitioning import Partitioning


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 60), st.integers(1, 12), st.integers(0, 10**6))
def test_exactly_the_true_answers_are_found(nodes, p, edges, asked, seed):
    rng = np.random.default_rng(seed)
    partitioning = Partitioning(nodes, p)
    splits = [np.stack([rng.integers(0, limit, edges) for limit in (nodes, 2, nodes)], axis=1) for _ in range(2)]
    true = {tuple(edge) for split in splits for edge in split.tolist()}
    src, rel, dst = rng.integers(0, nodes, asked), rng.integers(0, 2, asked), rng.integers(0, nodes, asked)
    queries = Queries.of_edges(EdgeBlock(src, rel, dst), 2)
    sources = [FakeEdges(split, partitioning) for split in splits]
    known = KnownAnswers(sources, partitioning, Candidates(partitioning), 10**6)
    found = set()
    for k in range(partitioning.partitions):
        for first, last in ((0, queries.sides[1]), (queries.sides[1], queries.sides[2])):
            answers = known.find(queries, k, first, last)
            for key, position in zip(answers.key.tolist(), answers.position.tolist()):
                row = queries.starts[key]
                found.add(
                    (
                        int(queries.side[row]),
                        int(queries.node[row]),
                        int(queries.rel[row]),
                        position + partitioning.range(k).start,
                    )
                )
    assert found == {(0, s, r, t) for s, r, t in true if (s, r) in set(zip(src.tolist(), rel.tolist()))} | {
        (1, t, r, s) for s, r, t in true if (t, r) in set(zip(dst.tolist(), rel.tolist()))
    }


def test_more_than_the_limit_is_not_kept():
    """Two questions with 100 answers each, repeated in three splits, where 100 may be held: one at a time."""
    partitioning = Partitioning(100, 1)
    edges = np.array([[s, 0, t] for s in range(2) for t in range(100)])
    queries = Queries(np.zeros(2, int), np.arange(2), np.zeros(2, int), np.full(2, -1), 1)
    known = KnownAnswers([FakeEdges(edges, partitioning)] * 3, partitioning, Candidates(partitioning), 0)
    assert known.find(queries, 0, 0, 2) is None
    parts = list(known.parts(queries, 0))
    assert [part[:2] for part in parts] == [(0, 1), (1, 2)]
    assert [part[2].position.tolist() for part in parts] == [list(range(100))] * 2


class EndlessEdges:
    """``total`` random edges in one bucket, made while they are read."""

    def __init__(self, total, nodes):
        self.total, self.nodes = total, nodes

    def block(self, rows, columns, edges, names):
        rng = np.random.default_rng(0)
        for start in range(0, self.total, edges):
            count = min(edges, self.total - start)
            src, dst = (rng.integers(0, self.nodes, count, dtype=np.uint32) for _ in range(2))
            yield EdgePiece(np.zeros(1, int), np.array([count]), [src, dst, np.zeros(count, np.uint32)])


def test_memory_does_not_follow_the_graph():
    def peak(total):
        rng = np.random.default_rng(1)
        partitioning = Partitioning(100_000, 1)
        src, dst = rng.integers(0, 100_000, (2, 1000))
        queries = Queries.of_edges(EdgeBlock(src, np.zeros(1000, np.int64), dst), 1)
        known = KnownAnswers([EndlessEdges(total, 100_000)], partitioning, Candidates(partitioning), 100_000)
        tracemalloc.start()
        answers = known.find(queries, 0, 0, queries.sides[2])
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(answers.key) > total / 100  # both sides, 1000 of 100,000 nodes each
        return size

    assert peak(4_000_000) < peak(500_000) * 1.2
