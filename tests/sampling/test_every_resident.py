import numpy as np

from marius_lite.sampling.every_resident import EveryResident
from marius_lite.sampling.negatives import ResidentNodes
from marius_lite.types import EdgeBatch

RESIDENT = ResidentNodes((0, 1, 2), 25, 10, np.array([300, 100, 700]))


def test_every_resident_node_but_the_edges_own():
    src, dst = np.array([305, 100, 704, 109]), np.array([700, 309, 100, 100])
    sampled = EveryResident(0).sample(EdgeBatch(1, 2, 3, src, dst, np.zeros(4, np.int64)), RESIDENT)
    assert sampled.negatives.shape == (1, 1, 25)
    assert sampled.shared
    assert sampled.sides == 2
    rows = sampled.negatives.ravel()
    assert sorted(rows) == [*range(100, 110), *range(300, 310), *range(700, 705)]
    (pairs,) = sampled.left_out  # of the queries of both sides, one side behind the other
    assert pairs.one_each(8)
    np.testing.assert_array_equal(rows[pairs.columns], [*dst, *src])


def test_the_node_asked_about_is_left_out_beside_the_answer_where_that_is_set():
    src, dst = np.array([305, 704, 109]), np.array([700, 100, 109])
    sampled = EveryResident(0, mask_self=True).sample(EdgeBatch(1, 2, 3, src, dst, np.zeros(3, np.int64)), RESIDENT)
    rows = sampled.negatives.ravel()
    (pairs,) = sampled.left_out
    np.testing.assert_array_equal(pairs.edges, [0, 0, 1, 1, 2, 3, 3, 4, 4, 5])
    for columns in pairs.columns.reshape(2, 5):
        assert {*rows[columns[:2]]} == {305, 700}
        assert {*rows[columns[2:4]]} == {704, 100}
        assert rows[columns[4]] == 109


def test_another_batch_drops_other_numbers():
    rows = [np.array([300])] * 3
    one, other = (EveryResident(0).sample(EdgeBatch(0, 0, batch, *rows), RESIDENT).seed for batch in (0, 1))
    assert one != other
