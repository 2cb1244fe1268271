"""The training nodes of partitions, in their order, and the batches that an epoch makes of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.sampling.node_batches import TrainingNodes, node_batches, node_window

ROWS, PARTITIONS = 10, 6
some_ids = st.sets(st.integers(0, ROWS * PARTITIONS - 1)).map(lambda ids: np.array(sorted(ids), np.int64))


@given(ids=some_ids, partitions=st.permutations(range(PARTITIONS)), count=st.integers(1, PARTITIONS))
def test_nodes_of_partitions_come_in_the_order_of_these(ids, partitions, count):
    training = TrainingNodes(ids, ids % 3, ROWS)
    expected = [node for k in partitions[:count] for node in ids.tolist() if node // ROWS == k]
    assert training.of(tuple(partitions[:count])).tolist() == expected
    assert training.labels_of(np.array(expected, np.int64)).tolist() == [node % 3 for node in expected]


def test_no_copy_is_made_of_all_nodes():
    training = TrainingNodes(np.arange(0, 60, 7), np.zeros(9, np.int64), ROWS)
    assert np.shares_memory(training.of(tuple(range(PARTITIONS))), training.ids)


@given(ids=some_ids, size=st.integers(1, 70), start=st.integers(0, 5), epoch=st.integers(0, 3))
def test_batches_hold_each_node_once_in_an_order_of_the_epoch(ids, size, start, epoch):
    window = node_window(0, len(ids), size)
    batches = list(node_batches(epoch, window, ids, 1, 0))
    assert [batch.index for batch in batches] == [*range(window.end)]
    assert sorted(node for batch in batches for node in batch.nodes.tolist()) == ids.tolist()
    assert all(batch.size == size for batch in batches[:-1])
    later = list(node_batches(epoch, window, ids, 1, start))
    assert [batch.nodes.tolist() for batch in later] == [batch.nodes.tolist() for batch in batches[start:]]
