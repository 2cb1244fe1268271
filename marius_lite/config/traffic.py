"""Count the bytes that epochs move between disk and memory where neighbours are drawn among all nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from marius_lite.config.encoder_memory import fanouts_of
from marius_lite.config.packing import Packing
from marius_lite.config.pooling import Pooling
from marius_lite.config.schedule import checkpoint_due, evaluation_due
from marius_lite.config.schema import Config

BatchesOf = Callable[[int], Sequence[int]]
"""Gives how many batches each window of an epoch has."""


@dataclass(frozen=True)
class Traffic:
    """The bytes that one epoch moves between disk and memory, without its evaluation, and its partition swaps."""

    rows_read: int
    rows_written: int
    edges_read: int
    swaps: int


@dataclass(frozen=True)
class MovedSizes:
    """Bytes that are moved at a time: a partition's learned rows and its features, 0 where there are none.

    ``lists``: those of each partition's in-edges; the nodes that batches ask for are in the first ``asked`` ones. ``edges``,
    ``edges_later``: those of the edges that the first epoch trains, and each later one, as far as they are read for it.
    """

    learned: int
    features: int
    lists: Sequence[int]
    asked: int
    edges: int
    edges_later: int

    def edges_of(self, epoch: int) -> int:
        return self.edges_later if epoch else self.edges


def exact_traffic(
    config: Config, how: Packing | Pooling, sizes: MovedSizes, partitions: int, batches: BatchesOf
) -> Iterator[Traffic]:
    """Yield the most bytes that each epoch of a run moves whose neighbours are drawn among all nodes, of which few are in memory.

    The first one reads the in-edge lists, for degrees, to keep them or to make others of them. Where lists stay on disk, each one
    reads them in passes, for batches that are sampled together. ``batches``: how many each window of an epoch has.
    """
    for epoch in range(config.training.epochs):
        windows = batches(epoch)
        once = (epoch == 0) * (sum(sizes.lists) + how.made_lists)
        lists = once + bytes_of_passes(config, how, sizes, windows)
        if isinstance(how, Packing):
            read, written = _packed(how, sizes, partitions, windows)
        else:
            flushes = checkpoint_due(config, epoch) + evaluation_due(config, epoch)
            read, written = _pooled(how, sizes, partitions, windows, flushes)
        yield Traffic(read, written, sizes.edges_of(epoch) + lists, 0)


def bytes_of_passes(config: Config, how: Packing | Pooling, sizes: MovedSizes, windows: Sequence[int]) -> int:
    """Return the bytes of in-edge lists that an epoch reads whose ``windows`` have so many batches: none where they are in
    memory."""
    if config.sampling.lists != "disk":
        return 0
    every, first = sum(sizes.lists), sum(sizes.lists[: sizes.asked])  # the first hop's lists are of the nodes that are asked for
    hops = (len(fanouts_of(config)) - 1) * every + first
    passes = sum(-(-each // how.together) for each in windows) * hops
    return passes * how.made_lists // every if how.made_lists else passes


def _packed(packing: Packing, sizes: MovedSizes, partitions: int, windows: Sequence[int]) -> tuple[int, int]:
    """Return the bytes of features, read and written: passes over all of them, and packs."""
    in_window = packing.window_rows * packing.row_bytes - packing.batch_bytes  # at least, where another batch does not fit
    packs = [each * packing.batch_bytes for each in windows]
    passes = sum(-(-each // max(in_window, packing.batch_bytes)) for each in packs)
    return passes * partitions * sizes.features + sum(packs), sum(packs)


def _pooled(pooling: Pooling, sizes: MovedSizes, partitions: int, windows: Sequence[int], flushes: int) -> tuple[int, int]:
    """Return the bytes of rows, read and written: for each window all partitions may be read, and written where rows are learned.

    What is changed is written so many times more, as ``flushes`` says: before a checkpoint, and before an evaluation.
    """
    passes, samples = sum(pooling.windows(each) for each in windows), sum(windows) * pooling.sample_bytes
    learned = (passes + flushes) * partitions * sizes.learned + samples
    return learned + passes * partitions * sizes.features, learned
