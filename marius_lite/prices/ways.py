"""Price the ways to train a graph neural network, side by side.

resident         neighbours are drawn among the resident partitions
exact            neighbours are drawn among all nodes; rows that do not fit in memory come in packs, or, where they are learned,
                 through a pool
propagate once   all nodes take from all neighbours once for each layer (`training.method: layerwise`); for classes of nodes

Bytes, memory and disk follow from the plan of a run. Seconds follow from a calibration: the dataset's files are read, and the
run's first batches are trained over borrowed rows, so that samples, shapes, model and threads are the run's own. That is for
features alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

from marius_lite.config import machine
from marius_lite.config.load import load
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.packing import EDGE_BYTES, NODE_BYTES, Packing
from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config
from marius_lite.config.traffic import bytes_of_passes
from marius_lite.errors import UserError
from marius_lite.estimate import plan_run, sizes_of, windows_of_epoch
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.graph.plans import plans_of
from marius_lite.nn.torch_settings import prepare_torch
from marius_lite.prices.batches import BatchTimes, batch_times
from marius_lite.prices.disk import DiskRates, disk_rates
from marius_lite.prices.layers import layers_seconds, pass_bytes
from marius_lite.sizes import format_bytes
from marius_lite.storage.packs import scratch_beside
from marius_lite.tasks.resolved import resolved
from marius_lite.temporary import remove_scratch, scratch
from marius_lite.train.build import first_model

RESIDENT, EXACT, ONCE = "resident", "exact", "propagate once"
SETTINGS = {
    RESIDENT: ("training.method=sampled", "training.layer_epochs=auto", "sampling.scope=resident", "sampling.lists=auto"),
    EXACT: ("training.method=sampled", "training.layer_epochs=auto", "sampling.scope=exact"),
    ONCE: ("training.method=layerwise", "sampling.scope=auto", "sampling.lists=auto", "sampling.refresh_epochs=1"),
}
"""What each way sets."""
SCRATCH = ".marius-prices-"


@dataclass(frozen=True)
class Price:
    """What a way takes. Sizes in bytes. ``read``: in an epoch after the first, on average. ``disk``: temporary.

    ``seconds``: of such an epoch, on average, without its evaluation; None where nothing was timed. ``absent``: the share of the
    neighbours of resident nodes that training does not see. ``why_not``: why the way cannot be taken; all else is then 0.
    """

    way: str
    about: str = ""
    read: int = 0
    memory: int = 0
    disk: int = 0
    absent: float = 0.0
    seconds: float | None = None
    why_not: str = ""


@dataclass(frozen=True)
class Prices:
    """The ways, and how they were timed: ``rates`` of the disk, and the ``seconds`` that it took; None where they were not."""

    ways: list[Price]
    rates: DiskRates | None = None
    seconds: float = 0.0


def prices_of(dataset: Path | str, config: Config, timed: bool = True) -> Prices | None:
    """Return the prices of a run of ``config``, which may have `auto`; None where there is but one way.

    That is: a GPU, several lanes of links, cluster batches, or hops without weights. ``timed``: whether seconds are measured,
    where no rows are learned. That takes up to a few seconds, and temporary files of at most 96 MiB beside the dataset, or where
    temporary files are.
    """
    data = Dataset.open(Path(dataset))
    found, _ = resolved(data, config)
    features, planning = data.features, planning_of(found)
    if not planning.has_ways(found):
        return None
    asked = [way for way in SETTINGS if way != ONCE or (planning.unit == "nodes" and not found.learns_rows)]
    if not timed or found.learns_rows or features is None:
        return Prices([_price(data, config, way, None, None) for way in asked])
    prepare_torch(found)  # which takes seconds, as in every run
    start = time.perf_counter()
    place = scratch_beside(data.path)
    remove_scratch(place, SCRATCH)
    with scratch(place, SCRATCH) as folder:
        rates = disk_rates(features.table, folder)
        ways = [_price(data, config, way, rates, folder) for way in asked]
    return Prices(ways, rates, time.perf_counter() - start)


def _price(data: Dataset, given: Config, way: str, rates: DiskRates | None, folder: Path | None) -> Price:
    try:
        config = load(None, SETTINGS[way], given.model_dump(mode="json"))
        plan = plan_run(data.path, config)
        settings, memory = resolved(data, config)
    except UserError as error:
        return Price(way, why_not=str(error).removeprefix("configuration: "))
    epoch, disk = plan["later_epoch"], plan["disk"]
    price = Price(
        way,
        _about(settings, memory, plan),
        epoch["rows_read"] + epoch["edges_read"],
        memory.total,
        disk.get("packs", 0) + disk.get("layers", 0),
        plan["neighbours_not_resident"] if way == RESIDENT else 0.0,
    )
    passes = pass_bytes(data, settings) // settings.training.epochs if way == ONCE else 0
    price = replace(price, read=price.read + passes)
    if rates is None or folder is None:
        return price
    if way == ONCE:
        return replace(price, seconds=layers_seconds(data, settings, memory, rates, folder))
    windows = windows_of_epoch(settings, plans_of(data, settings)(0), facts_of(data, settings, cuda=False), memory)
    batches = sum(windows)
    times = batch_times(data, settings, memory, first_model(data, settings), folder)
    if memory.packing is None:
        moved = price.read / rates.read
        return replace(price, seconds=_in_turn(batches * times.both, moved, plan["steps"] if settings.storage.prefetch else 1))
    packed = packed_batches(memory.packing, times, windows, data.manifest.nodes)
    lists = bytes_of_passes(settings, memory.packing, sizes_of(settings, data), windows)
    read = packed.read + lists
    return replace(price, read=read, seconds=packed.seconds(rates, times, batches) + lists / rates.read)


def _about(config: Config, memory: MemoryPlan, plan: dict[str, Any]) -> str:
    """Return what is in memory, in words."""
    held = f"{config.storage.capacity} of {plan['partitions']} partitions"
    if memory.pooling:
        lists = "lists on disk" if config.sampling.lists == "disk" else "all lists"
        return f"{memory.pooling.rows:,} rows at a time, {lists}; {format_bytes(plan['later_epoch']['rows_written'])} written"
    if memory.packing is None:
        return "everything in memory" if config.storage.capacity == plan["partitions"] else held
    return f"rows of {held}, " + ("lists on disk" if config.sampling.lists == "disk" else "all lists")


def _in_turn(one: float, other: float, parts: int) -> float:
    """Return the seconds of two kinds of work of which one is a part ahead of the other, where there are so many parts."""
    return max(one, other) + min(one, other) / max(1, parts)


@dataclass(frozen=True)
class PackedBatches:
    """What the packs of an epoch take: ``rows`` bytes of rows, ``samples`` of samples, in ``windows``; ``table``: of all rows."""

    rows: float
    samples: float
    windows: int
    table: int

    @property
    def read(self) -> int:
        return int(self.windows * self.table + self.rows + self.samples)

    def seconds(self, rates: DiskRates, times: BatchTimes, batches: int) -> float:
        """Return the seconds of an epoch: windows are sampled and packed in a thread, while others are learned."""
        packing = max(self.windows * self.table / rates.read, self.rows * rates.pack) + self.samples * rates.pack
        reading = (self.rows + self.samples) * rates.unpack
        busy = max(1.0, times.both / max(times.sample, times.learn))  # how much one holds up the other
        ahead, learned = busy * batches * times.sample + packing, busy * batches * times.learn
        shared = (batches * (times.sample + times.learn) + packing + reading) / machine.cpu_threads()
        return max(shared, ahead, learned)


def packed_batches(packing: Packing, times: BatchTimes, windows: Sequence[int], nodes: int) -> PackedBatches:
    """Return what packs take where ``windows`` have so many batches, as far as their samples are like those that were timed."""
    of_rows = times.nodes * (1 - times.used(packing.hot, nodes)) * packing.row_bytes
    of_samples = NODE_BYTES * times.nodes + EDGE_BYTES * times.edges
    passes = [max(1, ceil(each * (of_rows + of_samples) / (packing.window_rows * packing.row_bytes))) for each in windows]
    batches = sum(windows)
    return PackedBatches(batches * of_rows, batches * of_samples, sum(passes), nodes * packing.row_bytes)
