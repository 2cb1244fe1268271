"""Open the path by which rows travel between the host's buffers and a device: the configured one, or the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import reduce
from operator import add

from marius_lite.config.schema import Config
from marius_lite.device import verified
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.calibrate import measure
from marius_lite.device.chooser import Choice, Load, Rates, choose, rows_of_batch
from marius_lite.device.host_table import HostTable
from marius_lite.device.links import Link, Staged, ZeroCopy
from marius_lite.errors import RunError


def open_links(
    accelerator: Accelerator, config: Config, tables: Sequence[HostTable], loads: Sequence[Load], free: int, undo: ExitStack
) -> tuple[Sequence[Link], Choice]:
    """A link for each table, all of the same path, and why this path (docs/gpu-choices.md).

    ``loads``: of the first epoch's steps. ``free``: bytes of device memory that batches leave. ``undo``: is given what unpins the
    tables. Raises RunError where they cannot be pinned, but the configured path needs it.
    """
    path, threads = config.storage.device_path, int(config.training.threads)
    staged = [Staged(accelerator, table.records, threads) for table in tables]
    if path == "staged":
        return staged, Choice("staged", "as storage.device_path says")
    if path == "auto" and not verified.GPUS:
        return staged, Choice("staged", "the others are not chosen before they have run on a GPU")
    try:
        pinned = _pin(accelerator, config.storage.gather_sms, threads, tables, undo)
    except RuntimeError as error:
        undo.close()
        if path != "auto":
            raise RunError(
                f"storage.device_path is {path}, but the buffer cannot be pinned: {error}: use "
                "`storage.device_path: staged`, or a smaller storage.memory"
            ) from error
        return staged, Choice("staged", f"the buffer cannot be pinned: {error}")
    if path != "auto":
        return pinned, Choice(path, "as storage.device_path says")
    rates = _measured(accelerator, tables, pinned, staged, rows_of_batch(loads))
    choice = choose(rates, loads, sum(table.rows.nbytes for table in tables), free)
    if choice.path == "staged":
        undo.close()
        return staged, choice
    return pinned, choice


def _measured(
    accelerator: Accelerator, tables: Sequence[HostTable], pinned: Sequence[Link], staged: Sequence[Link], rows: int
) -> Rates:
    """The seconds that a row of all tables takes by each path, in batches of ``rows`` rows."""
    return reduce(
        add,
        (
            measure(accelerator, table.records, zero_copy, other, rows, table.step is not None)
            for table, zero_copy, other in zip(tables, pinned, staged)
        ),
    )


def _pin(accelerator: Accelerator, max_sms: int, threads: int, tables: Sequence[HostTable], undo: ExitStack) -> list[ZeroCopy]:
    """Pin every table. ``undo`` is given what unpins it. Raises RuntimeError where the driver refuses one."""
    links = []
    for table in tables:
        links.append(ZeroCopy(accelerator, table.records, table.slot_rows, max_sms, threads))
        undo.callback(links[-1].close)
    return links
