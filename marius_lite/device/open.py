"""Open a run's rows on a device, within the memory that it may take there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
import torch

from marius_lite.config.memory import GRAPH_BYTES, check_device_memory
from marius_lite.config.resolve import BatchNeeds
from marius_lite.config.schema import Config
from marius_lite.device import verified
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.batches import DeviceBatches
from marius_lite.device.cache import FullCache, HotRowCache
from marius_lite.device.chooser import Load
from marius_lite.device.host_table import HostTable
from marius_lite.device.links import Link
from marius_lite.device.path import open_links
from marius_lite.device.rows import DeviceTable, RowForm
from marius_lite.log import log
from marius_lite.sizes import format_bytes

FREE_SHARE = 0.9
"""The share of the free device memory that `storage.device_memory: auto` takes."""
CACHE_COPY_ROWS = 1 << 16
"""Rows that are copied at a time, at most, into a cache of hot rows and back."""
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "int8": torch.int8}


def open_batches(
    accelerator: Accelerator, config: Config, tables: Sequence[HostTable], needs: BatchNeeds, loads: Sequence[Load]
) -> DeviceBatches:
    """Open the tables' rows on the device, by a path that is chosen as docs/gpu-choices.md says, and log it.

    ``loads``: what the first epoch's steps touch. Raises UserError where storage.device_memory is too little, RunError where the
    buffers cannot be pinned for the path that was asked for.
    """
    storage = config.storage
    budget = take_memory(accelerator.device, storage.device_memory)
    stride = sum(table.records.shape[1] * 4 for table in tables)
    free = budget - sum(needs.bytes.values())
    with ExitStack() as undo:
        links, choice = open_links(accelerator, config, tables, loads, free, undo)
        bulk = choice.path == "bulk"
        cache_bytes = sum(table.rows.nbytes for table in tables) if bulk else storage.device_cache
        check_device_memory({**needs.bytes, "held": cache_bytes}, budget)
        graphs = needs.graphs if needs.graphs <= free - cache_bytes else 0
        hot_rows = 0 if bulk else min(storage.device_cache // stride, min(len(table.rows) for table in tables))
        made = [_table(accelerator, table, link, bulk, hot_rows, needs.rows) for table, link in zip(tables, links)]
        batches = DeviceBatches(accelerator, made, needs.packet, GRAPH_BYTES if graphs else 0, free - cache_bytes - graphs)
        undo.pop_all()
    if needs.graphs and not graphs:
        log.info("no graphs of batches: they would take %s, and storage.device_memory leaves less", format_bytes(needs.graphs))
    unproven = "" if verified.GPUS else f" ({accelerator.device}: this code is {verified.UNPROVEN})"
    log.info("rows reach %s by %s: %s%s", accelerator.device, choice.path, choice.why, unproven)
    return batches


def take_memory(device: torch.device, asked: int | str) -> int:
    """Limit the bytes that torch may take on the device to those ``asked`` for; the limit."""
    if device.type != "cuda":
        return np.iinfo(np.int64).max if asked == "auto" else int(asked)
    free, total = torch.cuda.mem_get_info(device)
    budget = int(free * FREE_SHARE) if asked == "auto" else int(asked)
    torch.cuda.set_per_process_memory_fraction(min(1.0, budget / total), device)
    return budget


def _table(accelerator: Accelerator, table: HostTable, link: Link, bulk: bool, hot_rows: int, rows: int) -> DeviceTable:
    """One table on the device, with a cache of all its rows for ``bulk``, else of ``hot_rows``."""
    records, changes = table.records, table.step is not None
    cache: FullCache | HotRowCache | None = None
    if bulk:
        cache = FullCache(accelerator, records, table.slot_rows, changes)
    elif hot_rows:
        cache = HotRowCache(accelerator, hot_rows, records.shape[1], link, CACHE_COPY_ROWS, changes)
    scales = None if table.scales is None else torch.from_numpy(table.scales[: table.columns]).to(accelerator.device)
    return DeviceTable(
        accelerator, link, cache, RowForm(table.columns, DTYPES[table.type], scales), records.shape[1], table.step, rows
    )
