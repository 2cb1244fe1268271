"""A lane counts its batches and edges through all the steps of a round."""

from open_parts import LINKS, open_parts

from marius_lite.optim.shared import SharedWeights
from marius_lite.train.lane import Lane


def test_batches_and_edges_are_counted_through_the_steps(tiny_dataset):
    with open_parts(tiny_dataset, *LINKS, "training.batch_size=20") as parts:
        object.__setattr__(parts, "shared", SharedWeights(parts.optimizer, parts.model))
        lane, steps = Lane(parts), parts.work.plan(0).steps
        batches = lane.batches(steps)
        assert batches == sum(lane.batches([step]) for step in steps) > len(steps) > 1
        before = [lane.edges_before(steps, batch) for batch in range(batches + 1)]
        assert before[0] == 0
        assert before[-1] == parts.work.items
        assert before == sorted(before)


def test_a_lane_trains_each_batch_from_where_it_begins(tiny_dataset):
    with open_parts(tiny_dataset, *LINKS, "training.batch_size=20") as parts:
        object.__setattr__(parts, "shared", SharedWeights(parts.optimizer, parts.model))
        parts.work.initialise()
        lane, steps = Lane(parts), parts.work.plan(0).steps[:2]

        def places(batch):
            lane.begin(0, [steps], batch)
            found = []
            while (finished := lane.train_batch()) is not None:
                found.append((finished.batch.step, finished.batch.index, finished.batch.size))
            lane.end()
            return found

        whole = places(0)
        assert len(whole) == lane.batches(steps)
        for batch in (1, lane.batches(steps[:1]), len(whole) - 1):
            assert places(batch) == whole[batch:]
        assert {*lane.flush()} == {k for step in steps for k in step.resident}
