"""From a run's settings to its rows on a device: memory counted, path chosen, buffers pinned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.config.memory import check_device_memory
from marius_lite.config.resolve import BatchNeeds
from marius_lite.config.schema import Config
from marius_lite.device import verified
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.batches import DeviceBatches
from marius_lite.device.calibrate import measure
from marius_lite.device.chooser import Choice, Load, choose
from marius_lite.device.held import HotRows, Mirror
from marius_lite.device.links import Link, Staged, Table, ZeroCopy
from marius_lite.device.rows import DeviceTable, RowForm, RowUpdate
from marius_lite.errors import RunError
from marius_lite.log import log

FREE_SHARE = 0.9
PIECE = 1 << 16
"""Rows, at most, that a cache is filled with at a time."""
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "int8": torch.int8}


@dataclass(frozen=True)
class HostTable:
    """A buffer's rows (n, width), 16-byte multiples apart, and what the first ``columns`` of each are.

    ``update``: how batches change them; None where they only read. ``type``, ``scales``: as in `graph.feature_types`.
    """

    rows: npt.NDArray[Any]
    slot_rows: int
    columns: int
    update: RowUpdate | None = None
    type: str = "float32"
    scales: npt.NDArray[np.float32] | None = None

    @property
    def records(self) -> Table:
        """The same bytes as float32: they are moved as they are."""
        return self.rows.view(np.float32)


def open_batches(accelerator: Accelerator, config: Config, tables: Sequence[HostTable], needs: BatchNeeds,
                 loads: Sequence[Load]) -> DeviceBatches:
    """The tables' rows on the device; says which way they take.

    ``loads``: what the first epoch's steps touch. Raises UserError where storage.device_memory is too little, RunError where the
    chosen path cannot be had.
    """
    storage = config.storage
    budget = take_memory(accelerator.device, storage.device_memory)
    stride = sum(table.records.shape[1] * 4 for table in tables)
    with ExitStack() as undo:
        links, choice = _links(accelerator, config, tables, loads, budget - sum(needs.bytes.values()), undo)
        mirrored = choice.path == "bulk"
        held = sum(table.rows.nbytes for table in tables) if mirrored else storage.device_cache
        check_device_memory({**needs.bytes, "held": held}, budget)
        cached = 0 if mirrored else min(storage.device_cache // stride, min(len(table.rows) for table in tables))
        made = [_table(accelerator, table, link, mirrored, cached, needs.rows) for table, link in zip(tables, links)]
        batches = DeviceBatches(accelerator, made, needs.packet)
        undo.pop_all()
    unproven = "" if verified.GPUS else f" ({accelerator.device}: this code is {verified.UNPROVEN})"
    log.info("rows reach %s by %s: %s%s", accelerator.device, choice.path, choice.why, unproven)
    return batches


def take_memory(device: torch.device, asked: int | str) -> int:
    """The bytes that torch may take on the device, which it is held to."""
    if device.type != "cuda":
        return np.iinfo(np.int64).max if asked == "auto" else int(asked)
    free, total = torch.cuda.mem_get_info(device)
    budget = int(free * FREE_SHARE) if asked == "auto" else int(asked)
    torch.cuda.set_per_process_memory_fraction(min(1.0, budget / total), device)
    return budget


def _table(accelerator: Accelerator, table: HostTable, link: Link, mirrored: bool, cached: int, rows: int) -> DeviceTable:
    records, changes = table.records, table.update is not None
    held: Mirror | HotRows | None = None
    if mirrored:
        held = Mirror(accelerator, records, table.slot_rows, changes)
    elif cached:
        held = HotRows(accelerator, cached, records.shape[1], link, PIECE, changes)
    scales = None if table.scales is None else torch.from_numpy(table.scales[: table.columns]).to(accelerator.device)
    return DeviceTable(accelerator, link, held, RowForm(table.columns, DTYPES[table.type], scales), records.shape[1],
                       table.update, rows)


def _links(accelerator: Accelerator, config: Config, tables: Sequence[HostTable], loads: Sequence[Load], free: int,
           undo: ExitStack) -> tuple[Sequence[Link], Choice]:
    """A link for each table, all of the same path; ``undo`` gives up those that pin."""
    path, threads = config.storage.device_path, int(config.training.threads)
    staged = [Staged(accelerator, table.records, threads) for table in tables]
    if path == "staged":
        return staged, Choice("staged", "as storage.device_path says")
    if path == "auto" and not verified.GPUS:
        return staged, Choice("staged", "the others are not chosen before they have run on a GPU")
    try:
        pinned = _pinned(accelerator, config.storage.gather_sms, threads, tables, undo.callback)
    except RuntimeError as error:
        undo.close()
        if path != "auto":
            raise RunError(f"storage.device_path is {path}, but the buffer cannot be pinned: {error}: use "
                           "`storage.device_path: staged`, or a smaller storage.memory") from error
        return staged, Choice("staged", f"the buffer cannot be pinned: {error}")
    if path != "auto":
        return pinned, Choice(path, "as storage.device_path says")
    rates = reduce(add, (measure(accelerator, table.records, zero_copy, other, table.update is not None)
                         for table, zero_copy, other in zip(tables, pinned, staged)))
    choice = choose(rates, loads, sum(table.rows.nbytes for table in tables), free)
    if choice.path == "staged":
        undo.close()
        return staged, choice
    return pinned, choice


def _pinned(accelerator: Accelerator, max_sms: int, threads: int, tables: Sequence[HostTable],
            later: Callable[[Callable[[], None]], object]) -> list[ZeroCopy]:
    links = []
    for table in tables:
        links.append(ZeroCopy(accelerator, table.records, table.slot_rows, max_sms, threads))
        later(links[-1].close)
    return links
