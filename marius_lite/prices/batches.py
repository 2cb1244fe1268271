"""Time the batches of a run that is not made: its shapes, model and threads, over borrowed rows and in-edge lists."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.encode.open import represent
from marius_lite.encode.representation import PreparedPlaces
from marius_lite.graph.adjacency import Adjacency
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.features import Features
from marius_lite.graph.inputs import lists_read
from marius_lite.graph.partitioning import Partitioning
from marius_lite.graph.plans import plans_of
from marius_lite.nn.products import products_in
from marius_lite.pipeline.batches import run
from marius_lite.prices.borrowed_lists import BorrowedLists
from marius_lite.rows.host import HostGather, HostRows
from marius_lite.rows.resident import RowBuffers, RowsByNode
from marius_lite.sampling.neighbours import NeighbourLists, NeighbourSample
from marius_lite.tasks import task_of
from marius_lite.tasks.link_prediction import SampledLinks
from marius_lite.tasks.task import Setting
from marius_lite.train.build import dense_optimizer
from marius_lite.train.work import Work
from marius_lite.types import Ids

SECONDS = 0.3
"""How long batches are sampled and learned, each, at least two of them; and then as many both at a time."""
MOST_BATCHES = 8
BORROWED = 64 << 20
"""Bytes of rows that all nodes share meanwhile."""


class BorrowedRows(RowsByNode, HostRows):
    """Rows that all nodes share: those of the first nodes."""

    def __init__(self, stored: Features, partitioning: Partitioning, threads: int):
        super().__init__(RowBuffers(stored, None, None, 0), partitioning, None, 1, threads)
        self._shared = max(1, min(BORROWED // stored.table.stride, stored.table.size(0)))
        rows = stored.table.read_block(0, 0, self._shared)
        self._gathers = [HostGather(rows, stored.width, 1, threads, stored.type, stored.scales)]

    def each_table(self, rows: Ids, nodes: Ids) -> list[Ids]:
        return [nodes % self._shared]

    def counters(self) -> dict[str, float]:
        return {"wait_s": 0.0}


@dataclass(frozen=True)
class BatchTimes:
    """Seconds of a batch: to ``sample`` it, to ``learn`` from it, and of a batch where the next is sampled meanwhile (``both``).

    ``nodes``, ``edges``: of a sample, on average. ``nodes_of``: those of each sample, ascending.
    """

    sample: float
    learn: float
    both: float
    nodes: float
    edges: float
    nodes_of: Sequence[Ids]

    def used(self, hot: int, nodes: int) -> float:
        """Return which share of a batch's rows would be among the ``hot`` rows that stay, of so many ``nodes``.

        Half of the samples choose them, as a run's first window does, and the other half counts.
        """
        half = len(self.nodes_of) // 2
        if not half or hot >= nodes:
            return min(1.0, hot / nodes)
        found, counts = np.unique(np.concatenate(self.nodes_of[:half]), return_counts=True)
        chosen = np.sort(found[np.argsort(-counts, kind="stable")[:hot]])
        others = (hot - len(chosen)) / max(1, nodes - len(chosen))  # beyond what was seen, rows are the first ones
        shares = [np.isin(each, chosen, assume_unique=True).mean() for each in self.nodes_of[half:]]
        seen = float(np.mean(shares))
        return seen + (1 - seen) * others


def batch_times(dataset: Dataset, config: Config, memory: MemoryPlan, model: Any, folder: Path) -> BatchTimes:
    """Time the first batches of a resolved configuration, trained on the CPU from features alone.

    ``model``: is changed. ``folder``: the run's, if it had one. Raises UserError, RunError as a run would.
    """
    task, stored = task_of(config), dataset.features
    assert stored is not None
    rows = BorrowedRows(stored, dataset.partitioning, int(config.training.threads))
    adjacency, weighted, lists = lists_read(dataset, config), config.sampling.weighted, None
    if isinstance(adjacency, Adjacency):  # else nodes have no neighbours
        lists = NeighbourLists(BorrowedLists(adjacency, weighted), model.encoder.asks_for_degrees, weighted)
    representation = represent(rows, None, dataset, config, model.encoder, folder, lists)
    learning = task.learning(Setting(dataset, config, memory, folder), rows, representation, model)
    work = Work(config, plans_of(dataset, config), learning, representation, dense_optimizer(config, model))
    with closing(work), products_in(config.training.precision):
        step = work.plan(0).steps[0]
        work.enter(step, None)
        opened = work.open(0, work.windows(step)[0], None)
        stages: Any = work.stages()
        batches: Iterator[Any] = cycle(opened.batches(0))
        stages.learn(stages.gather(stages.sample(next(batches))))  # memory is found, and threads begin
        prepared, sample = _timed(lambda: stages.sample(next(batches)), MOST_BATCHES)
        waiting = iter(prepared)
        _, learn = _timed(lambda: stages.learn(stages.gather(next(waiting))), len(prepared))
        with closing(run(islice(batches, len(prepared) + 1), stages, 0, lambda: False)) as finished:
            next(finished)  # before it nothing is sampled meanwhile
            _, both = _timed(lambda: next(finished), len(prepared), least=len(prepared))
    samples = [_sample_of(each.sampled) for each in prepared]
    return BatchTimes(
        sample,
        learn,
        both,
        float(np.mean([len(each.nodes) for each in samples])),
        float(np.mean([len(each.indices) for each in samples])),
        [np.sort(each.nodes) for each in samples],
    )


def _sample_of(sampled: SampledLinks | PreparedPlaces) -> NeighbourSample:
    """Return the neighbourhoods of a batch of links or of nodes."""
    sample = (sampled.places if isinstance(sampled, SampledLinks) else sampled).sample
    assert sample is not None
    return sample


def _timed(work: Callable[[], Any], most: int, least: int = 2) -> tuple[list[Any], float]:
    """Do work as often as the time allows, between ``least`` and ``most`` times. Return its results and the mean seconds."""
    results, start = list[Any](), time.perf_counter()
    while len(results) < most and (len(results) < least or time.perf_counter() - start < SECONDS):
        results.append(work())
    return results, (time.perf_counter() - start) / len(results)
