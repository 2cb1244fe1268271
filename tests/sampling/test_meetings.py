"""How often partitions meet, by the plans of epochs."""

import numpy as np
import pytest

from marius_lite.ordering.plan import make_plan
from marius_lite.sampling.every_resident import EveryResident
from marius_lite.sampling.meetings import PlannedMeetings, StepMeetings
from marius_lite.sampling.negatives import NegativeSampler, ResidentNodes
from marius_lite.types import EdgeBatch


def planned(ordering, partitions, capacity):
    return PlannedMeetings(lambda epoch: make_plan(ordering, partitions, capacity, 3, epoch))


@pytest.mark.parametrize(("ordering", "partitions", "capacity"), [("comet", 16, 4), ("comet", 10, 3), ("beta", 9, 4)])
def test_the_chances_of_each_pair_add_up_to_one_in_an_epoch(ordering, partitions, capacity):
    meetings, plan = planned(ordering, partitions, capacity), make_plan(ordering, partitions, capacity, 3, 5)
    chances = np.zeros((partitions, partitions))
    for step in plan.steps:
        found = meetings.of(5, step.index)
        assert found is not None
        chances[np.ix_(step.resident, step.resident)] += np.exp(-found.taken[np.ix_(found.classes, found.classes)])
    np.testing.assert_allclose(chances, 1, rtol=1e-5)


def test_partitions_that_move_together_are_of_one_class():
    found = planned("comet", 16, 4).of(0, 0)
    assert sorted(found.classes.tolist()) == [0, 0, 1, 1]
    np.testing.assert_allclose(np.exp(found.taken), [[7, 1], [1, 7]], rtol=1e-5)


def test_nothing_is_corrected_where_all_partitions_meet_once():
    assert planned("in_memory", 4, 4).of(0, 0) is None


def test_a_batch_knows_the_classes_of_its_nodes_wherever_their_partitions_lie():
    step = StepMeetings(np.array([1, 0, 1]), np.log(np.array([[1, 2], [2, 3]], np.float32)))
    resident = ResidentNodes((0, 1, 2), 25, 10, np.array([300, 100, 700]), meetings=step)
    edges = EdgeBatch(1, 2, 3, np.array([305, 100]), np.array([704, 109]), np.zeros(2, np.int64))
    batch = NegativeSampler(20, 3, 0, 0).sample(edges, resident)
    classes = np.where((batch.negatives >= 100) & (batch.negatives < 110), 0, 1)
    for side, queries in enumerate(([1, 0], [1, 0])):
        correction = batch.corrections[side]
        assert correction.answers.tolist() == step.taken[[1, 0], [1, 0]].tolist()
        assert (correction.by_class.classes == classes[side]).all()
        assert (correction.by_class.taken == step.taken[:, queries]).all()


def test_every_partition_may_be_of_a_class_of_its_own():
    """Beta has as many classes as the buffer has partitions."""
    meetings, partitions = planned("beta", 520, 260), 260
    found = meetings.of(0, 0)
    assert found is not None
    assert len(found.taken) == partitions
    resident = ResidentNodes(tuple(range(partitions)), partitions, 1, np.arange(partitions), meetings=found)
    edges = EdgeBatch(1, 2, 3, np.arange(partitions), np.arange(partitions)[::-1].copy(), np.zeros(partitions, np.int64))
    for side, correction in enumerate(EveryResident(0).sample(edges, resident).corrections):
        assert side == 0
        assert correction.by_class.classes.ravel().tolist() == found.classes.tolist()
        expected = found.taken[found.classes[edges.src], found.classes[edges.dst]]
        assert correction.answers.tolist() == [*expected, *expected]
