import threading
from contextlib import closing

import pytest

from marius_lite.pipeline.batches import Finished, Stages, run


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


class Item(int):
    @property
    def sampled(self):
        return self

    @property
    def edges(self):
        return int(self)


class Sampled(tuple):
    @property
    def sampled(self):
        return Item(self[0])

    @property
    def edges(self):
        return self[0]


@pytest.fixture(params=[0, 1, 3])
def staleness(request):
    return request.param


def pipeline(model, staleness, stop, count=60):
    stages = Stages(sample=Item, gather=lambda x: Sampled((int(x), model.applied)), learn=model.learn, apply=model.apply)
    return run(range(count), stages, staleness, stop)


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
    assert [f.edges for f in finished] == list(range(model.applied))
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
