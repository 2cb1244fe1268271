"""Processes that do not see each other's files: on machines without a common folder.

The first process has the run. Any other that does not see its folder has one of its own meanwhile, and partitions go from one
process to another where they are trained next.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import torch

from marius_lite import files
from marius_lite.files import disk_errors
from marius_lite.processes.holders import Move
from marius_lite.processes.one_process import Processes
from marius_lite.storage.chunks import Chunks
from marius_lite.temporary import remove_scratch, scratch

BLOCK = 16 << 20
"""Bytes that are sent at a time."""
PREFIX = ".process-"
"""What the names of other processes' folders begin with."""


def folders_of(processes: Processes, folder: Path) -> list[int]:
    """Return for each process the number of its folder: 0 where it sees ``folder`` of the first one, else its own number."""

    def made() -> str:
        name = f".seen-{secrets.token_hex(8)}"
        with disk_errors(folder):
            (folder / name).touch()
        return name

    name = processes.first(made)
    seen = processes.gathered((folder / name).exists())
    if processes.is_first:
        with disk_errors(folder):
            (folder / name).unlink()
    return [0 if sees else rank for rank, sees in enumerate(seen)]


@contextmanager
def own_folder(run: Path) -> Iterator[Path]:
    """Make a folder for a process that does not see the run's: inside a folder of the same name, where this process is.

    It is removed at the end. What killed processes left is removed first.
    """
    files.make_folder(run)
    remove_scratch(run, PREFIX)
    try:
        with scratch(run, PREFIX) as place:
            yield place
    finally:
        with suppress(OSError):  # there is something else in it
            run.rmdir()


def move(processes: Processes, chunks: Chunks, moves: Sequence[Move]) -> None:
    """Send and receive the files of partitions, in order: those that are this process's among the ``moves`` of all.

    A file is replaced when the whole of it has come. Nothing is compared: who reads it compares it with its checksum.
    """
    for each in moves:
        if each.source == processes.rank:
            for _, block in chunks.blocks(each.partition, BLOCK):
                processes.send(torch.from_numpy(np.asarray(block)), each.target)
        elif each.target == processes.rank:
            with disk_errors(chunks.folder), chunks.replacing(each.partition) as append:
                for at in range(0, chunks.size, BLOCK):
                    append(processes.received(min(BLOCK, chunks.size - at), each.source).numpy())
