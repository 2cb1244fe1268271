"""Count what a run will take before it runs: memory, disk, swaps, and bytes moved in each epoch. It uses the real plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import DryBuffer
from marius_lite.config.directions import listed_counts
from marius_lite.config.facts import Facts
from marius_lite.config.layerwise import as_trained
from marius_lite.config.load import require_config
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.planning import planning_of
from marius_lite.config.resolve import device_needs
from marius_lite.config.schedule import checkpoint_due, checkpoints_kept, evaluation_due, loads_pause, ranking_due
from marius_lite.config.schema import Config
from marius_lite.config.traffic import MovedSizes, Traffic, exact_traffic
from marius_lite.config.weight_power import WEIGHT_BYTES, power_of
from marius_lite.device.library import passed_over, usable
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.facts import facts_of
from marius_lite.graph.inputs import features_read, gathered_disk, lists_read
from marius_lite.graph.plans import absent_share, plans_of
from marius_lite.graph.remarks import doubtful, unused
from marius_lite.nn.evaluable import with_encoder
from marius_lite.nn.ways import require_way
from marius_lite.ordering.lanes import LANE_ORDERINGS, kept, rounds_of
from marius_lite.rows.table import table_bytes
from marius_lite.sampling.windows import windows_of
from marius_lite.storage.fill import each_adopted
from marius_lite.tasks.epoch_products import epoch_products, long_epochs
from marius_lite.tasks.link_prediction import edge_cut
from marius_lite.tasks.resolved import resolved, scoring_rates
from marius_lite.types import EpochPlan

EPOCHS_COUNTED = 10
MANY_BATCHES = 1.05
"""So many times the batches that the edges ask for are worth a remark."""

Plan = Callable[[int], EpochPlan]


@dataclass(frozen=True)
class Moved:
    """The partitions that an epoch loads, in order, and how many it writes."""

    loaded: list[int]
    written: int


def moves(config: Config, plan: Plan, partitions: int, slots: int, learned: bool) -> Iterator[Moved]:
    """Yield what each epoch of a run loads and writes. A buffer without files takes the trainer's calls and counts.

    ``config``: resolved. ``learned``: whether the rows are learned. Such rows are made at the start, which is not counted, and
    written when they leave. A ranking leaves all their partitions resident where they fit, else the first.
    """
    buffer = _with_first_rows(DryBuffer(partitions, slots), partitions, slots, learned)
    for epoch in range(config.training.epochs):
        buffer.moved()  # what was between the epochs is not counted
        steps = plan(epoch).steps
        last = None if loads_pause(config, epoch) else plan(epoch + 1).steps[0]
        for step, after in zip(steps, [*steps[1:], last]):
            buffer.enter(step.resident, step.following(after) if config.storage.prefetch else [])
            if learned:
                buffer.mark_dirty(step.resident)
        if checkpoint_due(config, epoch) or evaluation_due(config, epoch):
            buffer.flush()
        loaded, written = buffer.moved()
        yield Moved(loaded, len(written))
        if learned and ranking_due(config, epoch):
            buffer.enter(range(partitions) if slots >= partitions else [0], [])


def moves_of_lanes(config: Config, plan: Plan, partitions: int, slots: int, learned: bool) -> Iterator[Moved]:
    """Do as `moves` for a run in several lanes, all together: each has a buffer of its own."""
    buffers = [DryBuffer(partitions, slots) for _ in range(config.scale.ranks)]
    _with_first_rows(buffers[0], partitions, slots, learned)
    for epoch in range(config.training.epochs):
        for buffer in buffers:
            buffer.moved()
        rounds = rounds_of(plan(epoch), len(buffers))
        for lane, buffer in enumerate(buffers):
            for steps, following in zip(rounds, [*rounds[1:], None]):
                for step, after in zip(steps[lane], [*steps[lane][1:], None]):
                    buffer.enter(step.resident, step.following(after) if config.storage.prefetch else [])
                    if learned:
                        buffer.mark_dirty(step.resident)
                if following is not None:
                    buffer.enter(kept(steps[lane][-1].resident if steps[lane] else (), following[lane]), [])
            buffer.flush()
        moved = [buffer.moved() for buffer in buffers]
        yield Moved([k for loaded, _ in moved for k in loaded], sum(len(written) for _, written in moved))
        if learned and ranking_due(config, epoch):
            buffers[0].enter(range(partitions) if slots >= partitions else [0], [])


def _with_first_rows(buffer: DryBuffer, partitions: int, slots: int, learned: bool) -> DryBuffer:
    """Return the buffer after the first rows of all partitions were made in it, where rows are learned."""
    if learned:
        for _ in each_adopted(buffer, partitions, slots):
            pass  # without rows
        buffer.flush()
    return buffer


def traffic(config: Config, plan: Plan, sizes: MovedSizes, partitions: int, slots: int) -> Iterator[Traffic]:
    """Yield the bytes that each epoch of a run moves."""
    counted = moves_of_lanes if config.storage.ordering in LANE_ORDERINGS else moves
    rows = counted(config, plan, partitions, slots, learned=True)
    features = counted(config, plan, partitions, slots, learned=False)
    lists = counted(config, plan, partitions, partitions, learned=False)
    for epoch, (own, given, edges) in enumerate(zip(rows, features, lists)):
        yield Traffic(
            len(own.loaded) * sizes.learned + len(given.loaded) * sizes.features,
            own.written * sizes.learned,
            sizes.edges_of(epoch) + sum(sizes.lists[k] for k in edges.loaded),
            plan(epoch).swaps,
        )


def batches_of(config: Config, plan: EpochPlan, bucket_counts: npt.NDArray[np.int64], window_edges: int) -> list[int]:
    """Return how many batches of edges each window of an epoch has."""
    windows = (windows_of(step, bucket_counts, window_edges, edge_cut(config)) for step in plan.steps)
    return [window.batches for each in windows for window in each]


def windows_of_epoch(config: Config, plan: EpochPlan, facts: Facts, memory: MemoryPlan) -> list[int]:
    """Return how many batches each window of an epoch has whose rows may come in packs. Nodes are in one window."""
    if planning_of(config).unit == "edges":
        return batches_of(config, plan, facts.bucket_counts, memory.window_edges)
    return [-(-planning_of(config).items(facts) // config.lane_batch)]


def remark_of_batches(config: Config, batches: int, edges: int) -> list[str]:
    """Return a remark where steps have so few edges that their batches are much smaller than asked for."""
    asked, size = config.training.batch_size, config.lane_batch
    if batches <= MANY_BATCHES * edges / size + 1:
        return []
    return [
        f"an epoch has {batches:,} batches of {edges // batches:,} edges, where `training.batch_size` {asked} asks for "
        f"{edges / size:,.1f}: steps have few edges. More resident partitions (storage.memory), fewer partitions (`repartition`) "
        "or smaller batches change that"
    ]


def sizes_of(config: Config, data: Dataset) -> MovedSizes:
    """Return the sizes of what a run on a dataset moves. ``config``: resolved."""
    read = planning_of(config).edge_bytes_read + (WEIGHT_BYTES if power_of(config) else 0)
    edges = data.manifest.edges["train"] * read
    partitioning, adjacency, features = data.partitioning, lists_read(data, config), features_read(data, config)
    lists = [0] * partitioning.partitions
    if adjacency is not None:
        lists = [adjacency.read_bytes(k, config.sampling.weighted) for k in range(partitioning.partitions)]
    return MovedSizes(
        learned=table_bytes(data, config) // partitioning.partitions,
        features=partitioning.rows * features.stride if features is not None else 0,
        lists=lists,
        asked=partitioning.partitions if planning_of(config).unit == "edges" else data.manifest.training_partitions or 1,
        edges=edges,
        edges_later=edges,
    )


def plan_run(dataset: Path | str, config: Config | None = None) -> dict[str, Any]:
    """Return the memory, the disk and the bytes moved of a run of ``config`` on ``dataset``. Nothing is trained or written.

    Without a ``config`` the preset that suits the dataset is taken. Sizes are in bytes. Raises UserError where dataset, memory
    and capacity disagree.
    """
    require_config(config)
    data = Dataset.open(Path(dataset))
    given = config or config_for(data, None)
    config, memory = resolved(data, given)
    require_way(config.training.scoring, config.training.precision)
    facts = with_encoder(given, facts_of(data, given, usable()))
    sizes, plan, layers = sizes_of(config, data), plans_of(data, config), gathered_disk(data, config)
    if config.trains_layerwise:
        _, trained = as_trained(config, facts)
        sizes = replace(sizes, features=facts.rows_per_partition * trained.features, lists=[0] * facts.partitions)
    if memory.kept_edges:  # in each lane
        sizes = replace(sizes, edges=sizes.edges * config.scale.lanes, edges_later=0)
    table = facts.partitions * sizes.learned
    edges = data.manifest.edges["train"]
    links = planning_of(config).unit == "edges"
    moved = traffic(config, plan, sizes, facts.partitions, memory.slots)
    if exact := memory.packing or memory.pooling:
        moved = exact_traffic(
            config, exact, sizes, facts.partitions, lambda epoch: windows_of_epoch(config, plan(epoch), facts, memory)
        )
    counted = list(islice(moved, EPOCHS_COUNTED))
    later = counted[1:] or counted
    packs = exact.disk if exact else 0
    of_edges = sum(windows_of_epoch(config, plan(0), facts, memory)) if links else 0
    few_edges = remark_of_batches(config, of_edges, edges) if links else []
    return {
        "dataset": str(data.path),
        "nodes": facts.nodes,
        "edges": edges,
        "relations": facts.relations,
        "partitions": facts.partitions,
        "capacity": config.storage.capacity,
        "ordering": config.storage.ordering,
        "steps": len(plan(0).steps),
        "swaps": counted[0].swaps,
        **({"batches": of_edges} if of_edges else {}),
        "device": config.device,
        "scoring": config.training.scoring,
        "scoring_gflops": scoring_rates(data, config),
        **({"products": asdict(products)} if (products := epoch_products(data, config)) else {}),
        "memory": memory.as_dict(),
        "device_memory": device_needs(config, facts, int(config.storage.capacity), memory),
        "disk": {
            "dataset": sum(size for size, _ in data.manifest.files.values()),
            "rows": table,
            "checkpoints": table * checkpoints_kept(config),
            **({"packs": packs} if packs else {}),
            **({"layers": layers} if layers else {}),
            "total": table * (1 + checkpoints_kept(config)) + packs + layers,
        },
        "start": {"rows_written": table},
        **(
            {"neighbours_not_resident": absent_share(plan(0), listed_counts(config, facts.bucket_counts))}
            if any(sizes.lists)
            else {}
        ),
        "first_epoch": asdict(counted[0]),
        "later_epoch": {name: round(sum(getattr(t, name) for t in later) / len(later)) for name in asdict(later[0])},
        "remarks": [
            *passed_over(given, config.device),
            *unused(data.manifest, config),
            *doubtful(data.manifest, config),
            *few_edges,
            *long_epochs(data, config),
        ],
        "config": config.model_dump(mode="json"),
    }
