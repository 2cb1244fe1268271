"""Rows that come when batches need them, as a task sees them: of features in packs, and learned ones through a pool."""

from contextlib import contextmanager

from open_parts import CLASSES, open_parts

from marius_lite.rows.packed import PackedRows
from marius_lite.rows.pooled import PooledRows

PACKED = (PackedRows, "storage.capacity=2", "training.batch_size=5")
POOLED = (
    PooledRows,
    "storage.capacity=2",
    "training.batch_size=5",
    "sampling.fanouts=[3]",
    "model.layers=[]",
    "model.inputs=both",
    "model.dim=8",
)


@contextmanager
def begun(communities, kind, *sets):
    """The rows of a run whose first step is entered, of this ``kind``; its stages, and its batches."""
    with open_parts(communities, *CLASSES, *sets) as parts:
        assert isinstance(parts.work.rows, kind)
        parts.work.initialise()
        (step,) = parts.work.plan(0).steps
        parts.work.enter(step, None)
        (window,) = parts.work.windows(step)
        opened = parts.work.open(0, window, None)
        yield parts.work.rows, parts.work.stages(), opened.batches(0)
