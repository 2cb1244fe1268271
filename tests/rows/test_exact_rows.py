"""Rows that come when batches need them, in packs or through a pool, end with the batches."""

import threading
import time
from contextlib import closing

import pytest
from exact_rows import PACKED, POOLED, begun

from marius_lite.pipeline.batches import run
from marius_lite.rows.packer import Packer
from marius_lite.rows.pool import RowPool

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

NAMES = ["packed", "pooled"]


@pytest.mark.parametrize("kind", [PACKED, POOLED], ids=NAMES)
@pytest.mark.parametrize("taken", [0, 1, 7])
def test_training_that_is_closed_early_leaves_no_thread(communities, kind, taken):
    with begun(communities, *kind) as (_, stages, batches):
        before = threading.active_count()
        with closing(stages.ahead(batches, stages.sample, lambda: False)) as ahead:
            for _ in range(taken):
                stages.gather(next(ahead)[1])
        assert threading.active_count() == before


@pytest.mark.parametrize(("kind", "owner", "name"), [(PACKED, Packer, "pack"), (POOLED, RowPool, "bring")], ids=NAMES)
@pytest.mark.parametrize("staleness", [0, 2])
def test_a_stop_does_not_wait_for_a_window(communities, monkeypatch, kind, owner, name, staleness):
    """As a signal asks for while the first window is packed, or comes into the pool."""
    coming, usual = threading.Event(), getattr(owner, name)

    def slowly(self, window, stop):
        coming.set()
        stop.wait(20)
        return usual(self, window, stop)

    monkeypatch.setattr(owner, name, slowly)
    with begun(communities, *kind) as (_, stages, batches):
        start = time.monotonic()
        assert list(run(batches, stages, staleness, coming.is_set, coming.is_set)) == []
        assert time.monotonic() - start < 10
