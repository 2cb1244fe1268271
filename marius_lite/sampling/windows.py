"""Cut the edges of a step into windows that fit the memory planned for edges, and read them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from marius_lite.graph.edge_segment import TOGETHER, stretches
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.kept import KeptEdges
from marius_lite.sampling.by_weight import order_by_weight
from marius_lite.sampling.replayed import ReplayedEdges
from marius_lite.seeds import order_for
from marius_lite.types import Step

Bucket = tuple[int, int]
Column = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Cut:
    """How a window's edges or nodes are cut into batches of ``size``.

    ``even``: all batches of a window have the same size, give or take one: the nearest to ``size`` that there is. A window of
    less than 1.5 times ``size`` is one batch. Otherwise the last batch takes what is left, however little.
    """

    size: int
    even: bool = True

    def batches(self, items: int) -> int:
        """Return how many batches so many items make."""
        if not self.even or items == 0:
            return -(-items // self.size)
        return max(1, (2 * items + self.size) // (2 * self.size))

    def before(self, items: int, batch: int) -> int:
        """Return how many of the ``items`` are in the first ``batch`` batches."""
        if not self.even or items == 0:
            return min(batch * self.size, items)
        return items * batch // self.batches(items)


@dataclass(frozen=True, slots=True)
class Window:
    """Some buckets of one step whose edges are shuffled together; ``first_batch`` counts through the step's windows."""

    step: int
    buckets: tuple[Bucket, ...]
    edges: int
    first_batch: int
    cut: Cut

    @property
    def batches(self) -> int:
        return self.cut.batches(self.edges)

    @property
    def end(self) -> int:
        """The first batch after the window."""
        return self.first_batch + self.batches

    def before(self, batch: int) -> int:
        """Return how many of the window's items are trained before this batch of the step."""
        return self.cut.before(self.edges, min(max(batch - self.first_batch, 0), self.batches))


Upcoming = tuple[int, Window]
"""The epoch and the window that is opened next."""


def windows_of(step: Step, counts: npt.NDArray[np.int64], limit: int, cut: Cut) -> list[Window]:
    """Divide the step's buckets, in order, into windows of at most ``limit`` edges. A bucket is never divided."""
    groups: list[list[Bucket]] = [[]]
    size = 0
    for i, j in step.buckets:
        count = int(counts[i, j])
        if size + count > limit and groups[-1]:
            groups.append([])
            size = 0
        groups[-1].append((i, j))
        size += count
    windows, first = [], 0
    for group in groups:
        edges = int(sum(counts[i, j] for i, j in group))
        windows.append(Window(step.index, tuple(group), edges, first, cut))
        first = windows[-1].end
    return windows


@dataclass(frozen=True, slots=True)
class WindowEdges:
    """A window's edges as offsets inside partitions, bucket after bucket; uint32 views of shape (edges,).

    ``order``: the places of the edges in the order in which they are trained. Where they are drawn by weight, places repeat, and
    others are missing.
    """

    window: Window
    src: Column
    dst: Column
    rel: Column
    order: Column


class WindowReader:
    """Reads one window ahead, in the background, into one of two buffers of ``limit`` edges each.

    A WindowEdges is valid until the second `take` after it. Its order follows from ``run_seed``. It is made ``ahead``; or when
    the window is taken, and one order is in memory at a time. ``power``: where it is not 0, edges are drawn in proportion to
    that power of their weights (`sampling.by_weight`), always ahead.
    """

    def __init__(
        self, edges: EdgeBuckets | KeptEdges | ReplayedEdges, limit: int, run_seed: int, ahead: bool, power: float = 0.0
    ):
        self._edges, self._run_seed, self._ahead, self._power = edges, run_seed, ahead or power != 0, power
        self._buffers = [np.empty((3, limit), np.uint32) for _ in range(2)]
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="edges")
        self._turn = 0
        self._pending: tuple[Upcoming, Future[WindowEdges]] | None = None

    def prefetch(self, epoch: int, window: Window) -> None:
        """Begin to read ``window`` of an epoch. A window that was read before and not taken is dropped."""
        self._drop()
        buffer = self._buffers[self._turn]
        self._turn = 1 - self._turn
        self._pending = (epoch, window), self._pool.submit(self._read, window, epoch, buffer)

    def take(self, epoch: int, window: Window) -> WindowEdges:
        """The edges of ``window`` in an epoch, read now if they were not prefetched."""
        if self._pending is None or self._pending[0] != (epoch, window):
            self.prefetch(epoch, window)
        assert self._pending is not None
        future, self._pending = self._pending[1], None
        edges = future.result()
        return edges if self._ahead else replace(edges, order=shuffled(self._run_seed, epoch, window))

    def close(self) -> None:
        self._drop()
        self._pool.shutdown()

    def _drop(self) -> None:
        if self._pending is not None:
            self._pending[1].exception()
            self._pending = None
            self._turn = 1 - self._turn

    def _read(self, window: Window, epoch: int, buffer: npt.NDArray[np.uint32]) -> WindowEdges:
        src, dst, rel = (column[: window.edges] for column in buffer)
        weights = [np.empty(window.edges, np.float32)] if self._power else []
        if isinstance(self._edges, ReplayedEdges):
            self._edges.read_into(window.buckets, src, dst, rel, epoch, *weights)
        else:
            self._edges.read_into(window.buckets, src, dst, rel, *weights)
        if weights:
            order = order_by_weight(weights[0], self._power, self._run_seed, epoch, window.step, window.first_batch)
        else:
            order = shuffled(self._run_seed, epoch, window) if self._ahead else np.empty(0, np.uint32)
        return WindowEdges(window, src, dst, rel, order)


def to_rows(edges: WindowEdges, counts: npt.NDArray[np.int64], base_row: dict[int, int]) -> None:
    """Turn offsets into buffer rows, in place, by adding each partition's first row to its buckets' columns."""
    buckets = np.array(edges.window.buckets, np.int64).reshape(-1, 2)
    sizes = counts[buckets[:, 0], buckets[:, 1]]
    first = np.zeros(int(buckets.max(initial=0)) + 1, np.uint32)
    needed = np.unique(buckets).tolist()
    first[needed] = [base_row[k] for k in needed]
    start = 0
    for part in stretches(sizes, TOGETHER):
        stop = start + int(sizes[part].sum())
        for column, ends in zip((edges.src, edges.dst), buckets[part].T):
            column[start:stop] += first[ends[0]] if len(ends) == 1 else np.repeat(first[ends], sizes[part])
        start = stop


def shuffled(run_seed: int, epoch: int, window: Window) -> Column:
    """Return the places of a window's edges in a random order; 4 bytes an edge."""
    return order_for(run_seed, "shuffle", epoch, window.step, window.first_batch, window.edges)


def batch_slices(window: Window, start: int) -> Sequence[tuple[int, slice]]:
    """(batch index in the step, slice of the shuffled window) of each batch from index ``start`` on."""
    indices = range(max(start, window.first_batch), window.end)
    return [(index, slice(window.before(index), window.before(index + 1))) for index in indices]
