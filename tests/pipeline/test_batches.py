import threading
from contextlib import closing

import pytest

from marius_lite.pipeline.batches import Finished, Stages, Streamed, run


class Model:
    """A table of one number: learn reads it, apply adds to it; it notes how stale each batch was."""

    def __init__(self, delay=0.0):
        self.applied, self.lag, self.lock = 0, [], threading.Lock()

    def stages(self):
        return Stages(sample=lambda x: x, gather=lambda x: (x, self.applied), learn=self.learn, apply=self.apply)

    def learn(self, batch):
        index, seen = batch
        self.lag.append(index - seen)
        return float(index), index

    def apply(self, index):
        with self.lock:
            self.applied += 1


@pytest.fixture(params=[0, 1, 3])
def staleness(request):
    return request.param


def pipeline(model, staleness, stop, count=60):
    return run(range(count), model.stages(), staleness, stop)


def test_every_batch_is_finished_once_in_order_within_its_staleness(staleness):
    model = Model()
    finished = list(pipeline(model, staleness, lambda: False))
    assert finished == [Finished(k, float(k)) for k in range(60)]
    assert model.applied == 60
    assert max(model.lag) <= staleness
    assert min(model.lag) >= 0


def test_after_stop_what_was_begun_is_finished_and_nothing_else(staleness):
    model = Model()
    finished = []
    for f in pipeline(model, staleness, lambda: len(finished) >= 10 or model.applied >= 10):
        finished.append(f)
    assert [f.batch for f in finished] == list(range(model.applied))
    assert 10 <= model.applied <= 11 + staleness


def test_an_error_ends_the_threads(staleness):
    before = threading.active_count()
    model = Model()

    def fail(index):
        raise RuntimeError("apply failed")

    model.apply = fail
    with pytest.raises(RuntimeError, match="apply failed"), closing(pipeline(model, staleness, lambda: False)) as results:
        list(results)
    assert threading.active_count() == before


@pytest.mark.parametrize(("in_turn", "at_once"), [(False, 1), (False, 3), (True, 1)])
@pytest.mark.parametrize("under_way", [1, 2, 4])
@pytest.mark.parametrize("together", [1, 7])
def test_on_a_device_batches_end_in_order_and_at_most_so_many_are_under_way(under_way, in_turn, at_once, together):
    begun, most = [], []

    def begin(batches):
        begun.append(batches)
        most.append(len(begun))
        return lambda: list(map(float, begun.pop(0)))

    stages, before = Streamed(lambda x: x, lambda x: x, begin, under_way, in_turn, at_once, together), threading.active_count()
    finished = list(run(range(30), stages, 0, lambda: False))
    assert [f.batch for f in finished] == list(range(30)) == [f.loss for f in finished]
    assert max(most) == under_way
    assert threading.active_count() == before


@pytest.mark.parametrize(("in_turn", "at_once"), [(False, 1), (False, 3), (True, 1)])
@pytest.mark.parametrize("stage", ["sample", "track", "begin"])
def test_on_a_device_a_failure_of_a_stage_is_raised_and_ends_its_threads(stage, in_turn, at_once):
    def stages(name):
        def act(x):
            if name == stage and x in (5, [5]):
                raise RuntimeError(f"{name} failed")
            return x if name != "begin" else lambda: [0.0]

        return act

    before = threading.active_count()
    made = Streamed(stages("sample"), stages("track"), stages("begin"), 3, in_turn, at_once)
    with pytest.raises(RuntimeError, match=f"{stage} failed"), closing(run(range(30), made, 0, lambda: False)) as results:
        list(results)
    assert threading.active_count() == before


def test_on_a_device_a_stop_ends_what_was_begun():
    begun, ended = [], []

    def begin(batches):
        begun.extend(batches)
        return lambda: ended.extend(batches) or [0.0]

    list(run(range(30), Streamed(lambda x: x, lambda x: x, begin, 3), 0, lambda: len(begun) == 7))
    assert begun == ended == list(range(7))
