"""Sample the neighbourhoods of nodes, on the CPU or on a GPU. Both draw the same, so the faster one may be taken."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from marius_lite.config.encoder_memory import sampled_at_once
from marius_lite.config.schema import Config
from marius_lite.device import verified
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.neighbours import DeviceNeighbours
from marius_lite.errors import RunError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.fanouts import Fanout, hop_fanouts
from marius_lite.graph.inputs import lists_read
from marius_lite.log import log
from marius_lite.nn.allocator import give_back
from marius_lite.sampling.neighbours import NeighbourLists, NeighbourSample
from marius_lite.sampling.passes import AnyLists, ListsOnDisk, Request
from marius_lite.types import Ids

WARM_UP, COMPARED = 4, 8
"""Batches that the CPU and the GPU sample in turn: first without being timed, then to compare their times."""


class Neighbourhoods:
    """Samples neighbourhoods from ``lists``, with so many neighbours in each hop as ``fanouts`` say.

    ``on_device``: a GPU's sampler, which samples every batch. Where ``compared``, the CPU and the GPU take the first few batches
    in turn, and the faster one all others. Where they are sampled changes no sample. ``at_once``: batches that the CPU samples
    at the same time, with its threads divided among them. The GPU samples one.
    """

    def __init__(
        self,
        lists: AnyLists,
        fanouts: Sequence[Fanout],
        threads: int,
        on_device: DeviceNeighbours | None = None,
        compared: bool = False,
        at_once: int = 1,
    ):
        self.lists = lists
        self._fanouts, self._threads, self._on_device, self._compared = fanouts, threads // at_once, on_device, compared
        self._at_once, self._alone = at_once, threading.Lock()
        self._seconds: dict[bool, list[float]] | None = {False: [], True: []} if on_device and compared else None  # an edge's
        self._turn = 0
        self._counts = {"neighbours": 0, "neighbours_not_resident": 0, "drawn_on_device": 0}

    def enter(self, base_rows: Mapping[int, int], following: Iterable[int]) -> None:
        """Make the lists of exactly these partitions resident (see `NeighbourLists.enter`), and begin to read ``following``."""
        if self._on_device:
            self._on_device.leave(base_rows.keys())
        self.lists.enter(base_rows)
        if isinstance(self.lists, ListsOnDisk):
            give_back()  # what was taken to make lists and to count degrees
        if self._on_device:
            self._pin(self._on_device)
        self.lists.prefetch(following)

    def foresee(self, requests: Sequence[Request]) -> None:
        """Sample for several batches together, where lists are on disk. `sample` gives each once."""
        if isinstance(self.lists, ListsOnDisk):
            self.lists.foresee(requests, self._fanouts, self._threads)

    def sample(self, seeds: Ids, seed: int, exclude: Ids | None = None, both: bool = False) -> NeighbourSample:
        """Return what `NeighbourLists.sample` does. Several threads may call it."""
        if self._on_device is None:
            return self._sample(None, seeds, seed, exclude, both)
        with self._alone:
            if self._seconds is None:
                return self._sample(self._on_device, seeds, seed, exclude, both)
            return self._timed(self._seconds, seeds, seed, exclude, both)

    def some_sources(self, most: int) -> Ids:
        """Return what `NeighbourLists.some_sources` does; none where lists are on disk."""
        return self.lists.some_sources(most) if isinstance(self.lists, NeighbourLists) else np.empty(0, np.int64)

    def count(self, sample: NeighbourSample, times: int = 1) -> None:
        """Count the neighbours of a sample with which a batch is trained. (Samples drawn ahead are drawn again after a pause.)"""
        self._counts["neighbours"] += times * sample.neighbours
        self._counts["neighbours_not_resident"] += times * sample.missing

    def counters(self) -> dict[str, float]:
        """Return how many neighbours were counted, samples drawn on the GPU and edges moved so far."""
        return {**self._counts, "edges_moved": self.lists.edges_moved}

    def close(self) -> None:
        try:
            self._without_device()
        finally:
            self.lists.close()

    def _sample(
        self, on_device: DeviceNeighbours | None, seeds: Ids, seed: int, exclude: Ids | None, both: bool
    ) -> NeighbourSample:
        if isinstance(self.lists, ListsOnDisk):
            return self.lists.sample(seeds, self._fanouts, seed, self._threads)
        if on_device is None:
            return self.lists.sample(seeds, self._fanouts, seed, self._threads, exclude, both)
        self._counts["drawn_on_device"] += 1
        return on_device.sample(seeds, [int(fanout) for fanout in self._fanouts], seed, exclude, both)

    def _timed(self, seconds: dict[bool, list[float]], seeds: Ids, seed: int, exclude: Ids | None, both: bool) -> NeighbourSample:
        gpu = self._turn % 2 == 1
        start = time.perf_counter()
        sample = self._sample(self._on_device if gpu else None, seeds, seed, exclude, both)
        if self._turn >= WARM_UP:
            seconds[gpu].append((time.perf_counter() - start) / max(1, len(sample.indices)))
        self._turn += 1
        if self._turn == WARM_UP + COMPARED:
            self._choose(statistics.median(seconds[False]) / self._at_once, statistics.median(seconds[True]))
        return sample

    def _choose(self, cpu: float, gpu: float) -> None:
        assert self._on_device
        self._seconds = None
        times = {"the CPU": cpu, str(self._on_device.accelerator.device): gpu}
        compared = ", ".join(f"{seconds * 1e9:.3g} ns an edge on {place}" for place, seconds in times.items())
        say(f"on {min(times, key=lambda place: times[place])}: {compared}")
        if gpu >= cpu:
            self._without_device()

    def _pin(self, on_device: DeviceNeighbours) -> None:
        assert isinstance(self.lists, NeighbourLists)
        try:
            on_device.enter(self.lists.resident)
        except RuntimeError as error:
            self._without_device()
            if not self._compared:
                raise RunError(
                    f"sampling.device is cuda, but the in-edge lists cannot be pinned: {error}: use "
                    "`sampling.device: cpu`, or a smaller storage.capacity"
                ) from error
            say(f"on the CPU: the in-edge lists cannot be pinned: {error}")

    def _without_device(self) -> None:
        if self._on_device:
            self._on_device.close()
        self._on_device = self._seconds = None


def open_neighbourhoods(
    accelerator: Accelerator | None, dataset: Dataset, config: Config, degrees: bool, folder: Path, device_room: int = 0
) -> Neighbourhoods:
    """Open the dataset's in-edge lists and the samplers of an encoder. ``degrees``: whether it asks for true in-degrees.

    ``folder``: where temporary files may be. ``device_room``: the bytes that are free on the device. Lists take at most half of
    them, because batches have no fixed size.
    """
    adjacency, weighted = lists_read(dataset, config), config.sampling.weighted
    assert adjacency is not None
    device = config.sampling.device
    on_device = accelerator is not None and device != "cpu"
    if on_device and device == "auto" and not verified.GPUS:
        on_device = False
        say("on the CPU: the GPU's sampler is not chosen before it has run on a GPU")
    lists: AnyLists = (
        ListsOnDisk(adjacency, degrees, weighted, folder)
        if config.sampling.lists == "disk"
        else NeighbourLists(adjacency, degrees, weighted, own_pages=on_device)
    )
    sampler = DeviceNeighbours(accelerator, dataset.partitioning, device_room // 2) if accelerator and on_device else None
    at_once = sampled_at_once(config) if accelerator else 1
    return Neighbourhoods(lists, hop_fanouts(config, dataset), int(config.training.threads), sampler, device == "auto", at_once)


def say(where: str) -> None:
    """Log where neighbours are sampled."""
    log.info("neighbours are sampled %s", where)
