"""A run opened for reading: what eval, predict and export share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from marius_lite.checkpoint import run_folder, save
from marius_lite.checkpoint.dense import read_dense
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import read_state
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.train import build


@dataclass(frozen=True)
class OpenedRun:
    run: RunFolder
    checkpoint: Path
    config: Config
    dataset: Dataset
    table: RowTable
    buffer: PartitionBuffer
    model: LinkPredictionModel

    def close(self) -> None:
        self.buffer.close()


def open_run(path: Path, checkpoint: str | None) -> OpenedRun:
    """A checkpoint's rows behind a read-only buffer, and its model. Raises UserError where there is none."""
    run = RunFolder(path)
    record = run_folder.read_record(run)
    dataset = run_folder.open_dataset(run, record)
    place = save.find(run, checkpoint)
    if place is None:
        raise UserError(f"{path}: no checkpoint yet: `marius-lite resume {path}` trains until there is one")
    config, memory = build.resolved(dataset, run_folder.config_of(run, record))
    build.prepare_torch(config)
    state = read_state(place)
    table = RowTable.open(place / build.NODES)
    buffer = PartitionBuffer(table, memory.slots, threads=config.storage.io_threads, direct=config.storage.direct_io)
    buffer.expect(state.checksums)
    model = build.make_model(dataset, config)
    model.load_state_dict(build.model_weights(read_dense(place, state.dense)))
    return OpenedRun(run, place, config, dataset, table, buffer, model.to(torch.device("cpu")).eval())
