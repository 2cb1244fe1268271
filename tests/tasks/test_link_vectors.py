"""Exported vectors are the rows behind the buffer, in order of node id, in blocks of bounded size; relations in two tables."""

from contextlib import closing

import numpy as np
import pytest

from marius_lite.tasks import link_vectors
from marius_lite.tasks.opened_links import open_run


@pytest.fixture
def opened(link_run):
    with closing(open_run(link_run, None)) as run:
        yield run


@pytest.mark.parametrize("most", [64, 1000, link_vectors.BLOCK_BYTES])
def test_nodes_in_order_however_large_a_block(opened, monkeypatch, most):
    monkeypatch.setattr(link_vectors, "BLOCK_BYTES", most)
    ids, vectors = [], []
    for block, columns in link_vectors.node_blocks(opened.buffer, opened.dataset, 8):
        assert len(block) == len(columns["vector"]) <= max(1, most // 32)
        ids += block.to_pylist()
        vectors.append(columns["vector"].copy())  # it may be the buffer's, until the next one
    assert ids == opened.dataset.raw_ids(0, 300).to_pylist()
    vectors = np.concatenate(vectors)
    for k in range(4):
        opened.buffer.enter([k])
        np.testing.assert_array_equal(vectors[opened.dataset.partitioning.range(k)], opened.buffer.resident.view(k)[:, :8])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(0, {}), (3, {"relations": [0, 1, 2]}), (6, {"relations": [0, 1, 2], "reciprocal_relations": [3, 4, 5]})],
)
def test_relations_and_their_inverses(rows, expected):
    values = np.arange(rows, dtype=np.float32)[:, None]
    assert {name: part[:, 0].tolist() for name, part in link_vectors.relation_tables(values, 3)} == expected


def test_what_is_exported_says_how_much_it_is(opened):
    relations = opened.model.relations.detach().numpy()
    exported = link_vectors.link_vectors(opened.buffer, opened.dataset, 8, relations, {"decoder": "x"})
    assert {name: count for name, _, count in exported.tables} == {"nodes": 300, "relations": 3, "reciprocal_relations": 3}
    assert exported.facts == {"relations": 3, "dim": 8, "decoder": "x"}
