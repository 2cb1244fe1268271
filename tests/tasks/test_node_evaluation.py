"""Nodes are looked at by partition and in blocks: each once, in order; figures count all of a split."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.tasks import node_blocks
from marius_lite.tasks.checkpoint import open_checkpoint
from marius_lite.tasks.class_probabilities import open_classifier
from marius_lite.tasks.node_blocks import blocks, by_partition
from marius_lite.tasks.node_evaluation import classify_split


@given(st.sets(st.integers(0, 200)), st.integers(1, 90))
def test_partitions_have_their_nodes(nodes, rows):
    ids = np.array(sorted(nodes), np.int64)
    parts = list(by_partition(ids, rows))
    assert [k for k, _ in parts] == sorted({node // rows for node in nodes})
    assert [k * rows + offset for k, offsets in parts for offset in offsets] == sorted(nodes)


@given(st.integers(0, 50), st.integers(1, 40))
def test_blocks_are_bounded_and_end_to_end(count, width):
    before, node_blocks.SCORES = node_blocks.SCORES, 100
    try:
        parts = list(blocks(np.arange(count), width))
    finally:
        node_blocks.SCORES = before
    assert all(len(part) * width <= max(100, width) for part in parts)
    assert [offset for part in parts for offset in part] == list(range(count))


@pytest.mark.parametrize(("split", "count"), [("train", 120), ("valid", 180), ("test", 300)])
def test_all_of_a_split_is_classified_however_large_a_block(class_run, monkeypatch, split, count):
    with closing(open_checkpoint(class_run, None)) as found:

        def classified():
            return classify_split(found.dataset, open_classifier(found), found.config, split, found.run.path, found.table)

        whole = classified()
        assert whole["count"] == count
        assert np.sum(whole["confusion"]) == count
        assert whole["accuracy"] == np.trace(whole["confusion"]) / count
        monkeypatch.setattr(node_blocks, "SCORES", 28)
        again = classified()
        assert again.pop("log_loss") == pytest.approx(whole.pop("log_loss"))  # which is summed block by block
        assert again == whole
