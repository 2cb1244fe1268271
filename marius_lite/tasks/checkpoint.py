"""Open a checkpoint for reading, as eval, predict and export do."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import torch

from marius_lite.checkpoint import run_folder
from marius_lite.checkpoint.arrays import check_arrays
from marius_lite.checkpoint.find import hold
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import State, read_state
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.torch_settings import prepare_torch
from marius_lite.rows.table import open_table
from marius_lite.storage.table import RowTable
from marius_lite.tasks.resolved import resolved


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that is open for reading. A run that still trains does not remove it before it is closed.

    ``path``: its folder. ``config``: the run's, without ``auto``. ``memory``: the memory to read it in. ``table``: its learned
    rows with their checksums, None where no rows are learned.
    """

    run: RunFolder
    path: Path
    state: State
    config: Config
    memory: MemoryPlan
    dataset: Dataset
    table: RowTable | None
    _stack: ExitStack = field(repr=False)

    @property
    def stored_vectors(self) -> RowTable | None:
        """The table of all nodes' vectors: the learned rows. None where an encoder makes vectors."""
        return None if self.config.encodes else self.table

    @property
    def device(self) -> torch.device:
        """Where its model is computed: where the run was trained, if this machine has that; else the CPU."""
        wanted = torch.device(self.config.device)
        there = torch.cuda.device_count() if torch.cuda.is_available() else 0
        return wanted if wanted.type == "cuda" and (wanted.index or 0) < there else torch.device("cpu")

    def close(self) -> None:
        self._stack.close()


def open_checkpoint(path: Path, name: str | None, moved_to: Path | None = None) -> Checkpoint:
    """Open a checkpoint of the run in ``path``: the one named, or as `checkpoint.find.find_to_read` chooses.

    ``moved_to``: where the run's dataset is now. Raises UserError where there is no such checkpoint or dataset.
    """
    run = RunFolder.to_read(path)
    record = run_folder.read_record(run)
    dataset = run_folder.open_dataset(run, record, moved_to)
    locked = hold(run, name)
    if locked is None:
        raise UserError(f"{run.name}: no checkpoint yet: `marius-lite resume {run.name}` trains until there is one")
    folder, lock = locked
    with ExitStack() as stack:
        stack.callback(os.close, lock)
        state = read_state(folder)
        if state.fingerprint != dataset.fingerprint:
            raise UserError(f"{folder}: belongs to another dataset than {dataset.path}")
        config, memory = resolved(dataset, run_folder.config_of(run, record))
        prepare_torch(config)
        check_arrays(folder, state.arrays)
        table = open_table(folder, dataset, config, state.checksums)
        return Checkpoint(run, folder, state, config, memory, dataset, table, stack.pop_all())
