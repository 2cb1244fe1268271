"""From a run's settings to its rows on a device: memory counted, path chosen, buffer pinned."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from marius_lite.config.memory import check_device_memory, device_bytes
from marius_lite.config.schema import Config
from marius_lite.device import verified
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.calibrate import measure
from marius_lite.device.chooser import Choice, Load, choose
from marius_lite.device.held import HotRows, Mirror
from marius_lite.device.links import Link, Staged, Table, ZeroCopy
from marius_lite.device.rows import BatchShape, DeviceRows, RowUpdate
from marius_lite.errors import RunError

FREE_SHARE = 0.9


def open_device_rows(accelerator: Accelerator, config: Config, table: Table, slot_rows: int, update: RowUpdate,
                     loads: Sequence[Load]) -> tuple[DeviceRows, Choice]:
    """Rows of the buffer ``table`` (rows, width) on the device, and how they travel.

    ``loads``: what the first epoch's steps touch. Raises UserError where
    storage.device_memory is too little, RunError where the chosen path cannot be had.
    """
    storage = config.storage
    shape = batch_shape(config)
    budget = take_memory(accelerator.device, storage.device_memory)
    stride, threads = table.shape[1] * 4, int(config.training.threads)
    staged = Staged(accelerator, table, threads)

    def zero_copy() -> ZeroCopy:
        return ZeroCopy(accelerator, table, slot_rows, storage.gather_sms, threads)

    needed = device_bytes(config, stride, storage.device_cache)
    link, choice = _link(accelerator, storage.device_path, table, zero_copy, staged, loads, budget - sum(needed.values()))
    if choice.path == "bulk":
        needed = device_bytes(config, stride, table.nbytes)
    try:
        check_device_memory(needed, budget)
        held: Mirror | HotRows | None = None
        if choice.path == "bulk":
            held = Mirror(accelerator, table, slot_rows)
        elif storage.device_cache >= stride:
            held = HotRows(accelerator, storage.device_cache // stride, table.shape[1], link, shape.places)
        return DeviceRows(accelerator, link, held, update, config.model.dim, table.shape[1], shape), choice
    except BaseException:
        link.close()
        raise


def batch_shape(config: Config) -> BatchShape:
    return BatchShape(config.training.batch_size, (2, config.negatives.chunks, config.negatives.count))


def take_memory(device: torch.device, asked: int | str) -> int:
    """The bytes that torch may take on the device, which it is held to."""
    if device.type != "cuda":
        return np.iinfo(np.int64).max if asked == "auto" else int(asked)
    free, total = torch.cuda.mem_get_info(device)
    budget = int(free * FREE_SHARE) if asked == "auto" else int(asked)
    torch.cuda.set_per_process_memory_fraction(min(1.0, budget / total), device)
    return budget


def _link(accelerator: Accelerator, path: str, table: Table, zero_copy: Callable[[], ZeroCopy], staged: Staged,
          loads: Sequence[Load], free: int) -> tuple[Link, Choice]:
    if path == "staged":
        return staged, Choice("staged", "as storage.device_path says")
    if path == "auto" and not verified.GPUS:
        return staged, Choice("staged", "the others are not chosen before they have run on a GPU")
    try:
        pinned = zero_copy()
    except RuntimeError as error:
        if path != "auto":
            raise RunError(f"storage.device_path is {path}, but the buffer cannot be pinned: {error}: use "
                           "`storage.device_path: staged`, or a smaller storage.memory") from error
        return staged, Choice("staged", f"the buffer cannot be pinned: {error}")
    if path != "auto":
        return pinned, Choice(path, "as storage.device_path says")
    choice = choose(measure(accelerator, table, pinned, staged), loads, table.nbytes, free)
    if choice.path == "staged":
        pinned.close()
        return staged, choice
    return pinned, choice
