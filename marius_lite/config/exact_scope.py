"""Plan a run whose neighbours are drawn among all nodes, while few rows are in memory. The others come when batches need them:
features in packs (`rows.packer`), learned rows through a pool (`rows.pooled`).

Links and nodes are alike in this. What differs is how many batches there are, and what waits on disk of each.
"""

from __future__ import annotations

from dataclasses import replace

from marius_lite.config.encoder_memory import EncoderSizes, reached
from marius_lite.config.facts import Facts
from marius_lite.config.inputs import input_stride, inputs_of
from marius_lite.config.memory import MemoryPlan, slot_bytes
from marius_lite.config.packing import PREPARED, PackedTable
from marius_lite.config.pooling import SLOTS, PooledTable
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.sizes import format_bytes


def why_not_exact(config: Config) -> str | None:
    """Return why rows cannot come as batches need them, as the second half of a sentence; None where they can."""
    if config.device != "cpu":
        return f"`device` is {config.device}, where rows come with their partitions: use `device: cpu`, or `scope: auto`"
    return None


def rows_memory(
    config: Config, facts: Facts, whole: MemoryPlan, sizes: EncoderSizes, capacity: int, batches: int, beside: int = 0
) -> MemoryPlan:
    """Return the memory where as many rows stay as ``capacity`` partitions have, or as batches need. See `packed_memory`."""
    if inputs_of(config, facts) == "features":
        return packed_memory(config, facts, whole, sizes, capacity, batches, beside)
    return pooled_memory(config, facts, whole, sizes, capacity, beside)


def pooled_memory(config: Config, facts: Facts, whole: MemoryPlan, sizes: EncoderSizes, capacity: int, beside: int) -> MemoryPlan:
    """Return the memory where learned rows come through a pool, with the features beside them. See `packed_memory`."""
    stride = input_stride(config, facts)
    reach, drawn = reached(config, sizes.seeds, sizes.graph)
    disk = None if config.storage.packs_disk == "auto" else config.storage.packs_disk
    table = PooledTable(facts.nodes, stride, disk, beside)
    pooling = table.pooling((reach[-1], sum(drawn)), capacity * facts.rows_per_partition)
    if disk is not None and pooling.disk > disk:
        raise UserError(
            f"`storage.packs_disk` is {format_bytes(disk)}, but the samples of two batches take {format_bytes(pooling.disk)}: "
            "raise it, or lower training.batch_size or sampling.fanouts"
        )
    return replace(
        whole,
        slots=SLOTS,
        spare=SLOTS - 1,
        buffer=pooling.rows * stride + SLOTS * slot_bytes(facts.rows_per_partition, stride) + table.memory(pooling),
        edges=facts.all_lists + whole.edges - whole.slots * facts.lists,
        workspace=whole.workspace + (PREPARED + config.training.staleness) * pooling.sample_bytes,
        pooling=pooling,
    )


def packed_memory(
    config: Config, facts: Facts, whole: MemoryPlan, sizes: EncoderSizes, capacity: int, batches: int, beside: int = 0
) -> MemoryPlan:
    """Return the memory where as many rows stay as ``capacity`` partitions have, and the in-edges of all nodes.

    ``whole``: the memory with everything in it. ``sizes``: of batches then. ``batches``: how many are sampled ahead at most.
    ``beside``: bytes of a sampled batch that are not of its neighbourhood. Raises UserError where ``storage.packs_disk`` is less
    than packs take.
    """
    rows = capacity * facts.rows_per_partition
    reach, drawn = reached(config, sizes.seeds, sizes.graph)
    disk = None if config.storage.packs_disk == "auto" else config.storage.packs_disk
    table = PackedTable(facts.nodes, facts.features, disk, config.sampling.refresh_epochs, batches, beside)
    packing = table.packing((reach[-1], sum(drawn)), rows)
    if disk is not None and packing.disk > disk:
        raise UserError(
            f"`storage.packs_disk` is {format_bytes(disk)}, but two batches and what is kept take {format_bytes(packing.disk)}: "
            "raise it, or lower training.batch_size or sampling.fanouts"
        )
    ahead = packing.cold * facts.features + (PREPARED + config.training.staleness) * packing.sample_bytes
    return replace(
        whole,
        slots=capacity,
        buffer=rows * facts.features + table.memory(packing),
        edges=facts.all_lists + whole.edges - whole.slots * facts.lists,
        workspace=whole.workspace + ahead,
        packing=packing,
    )


def needs_more(memory: MemoryPlan, budget: int, lower: str) -> str:
    """Return that a run needs more than ``budget``, as the second half of a sentence. ``lower``: settings that make it less."""
    return (
        f"this needs {format_bytes(memory.total)} ({memory.told()}), `storage.memory` is {format_bytes(budget)}: "
        f"raise it, or lower {lower}"
    )
