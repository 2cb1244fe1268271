"""A work makes resident what a step names, trains each edge of an epoch once, and writes what it changed."""

from collections import Counter

import pytest
from open_parts import CLASSES, ENCODER, LINKS, open_parts

from marius_lite._native import crc32c
from marius_lite.errors import RunError
from marius_lite.pipeline.batches import run


@pytest.fixture(params=["links", "encoded", "classes"])
def work(request):
    if request.param != "links":
        pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    dataset, *sets = {
        "links": ["tiny_dataset", *LINKS],
        "encoded": ["featured", *LINKS, *ENCODER],
        "classes": ["communities", *CLASSES, "storage.capacity=2", "model.inputs=both"],
    }[request.param]
    with open_parts(request.getfixturevalue(dataset), *sets) as parts:
        parts.work.initialise()
        yield parts.work


def steps_of(work):
    steps = work.plan(0).steps
    return zip(steps, [*steps[1:], None])


def test_an_epoch_is_trained_once(work):
    trained = Counter()
    for step, after in steps_of(work):
        work.enter(step, after)
        assert set(work.rows.resident) == set(step.resident)
        windows = work.windows(step)
        for window, following in zip(windows, [*((0, each) for each in windows[1:]), None]):
            opened = work.open(0, window, following)
            for finished in run(opened.batches(window.first_batch), work.stages(), 0, lambda: False):
                trained[step.index, finished.batch.index] += finished.batch.size
                assert finished.loss > 0
    assert sum(trained.values()) == work.items


def test_batches_follow_from_where_they_begin(work):
    step = work.plan(0).steps[0]
    work.enter(step, None)
    (window, *_) = work.windows(step)
    opened = work.open(0, window, None)
    every = list(opened.batches(window.first_batch))
    later = list(opened.batches(window.first_batch + 1))
    assert [batch.index for batch in later] == [batch.index for batch in every[1:]]
    assert [batch.size for batch in later] == [batch.size for batch in every[1:]]


def test_what_is_flushed_is_what_its_checksums_say(work):
    step = work.plan(0).steps[0]
    before = work.flush()
    work.enter(step, None)
    opened = work.open(0, work.windows(step)[0], None)
    list(run(opened.batches(0), work.stages(), 0, lambda: False))
    after = work.flush()
    changed = {k for k, checksum in after.items() if before.get(k) != checksum}
    assert changed
    assert changed <= set(step.resident)
    table = work.rows.learned
    assert all(crc32c(table.chunk_path(k).read_bytes()) == checksum for k, checksum in after.items())


def test_rows_are_closed_even_where_another_part_fails(work, monkeypatch):
    def failing():
        raise RunError("no device")

    closed, close = [], work.rows.close
    monkeypatch.setattr(work._representation, "close", failing)
    monkeypatch.setattr(work.rows, "close", lambda: closed.append(True))
    with pytest.raises(RunError, match="no device"):
        work.close()
    assert closed == [True]
    monkeypatch.undo()
    assert work.rows.close == close
