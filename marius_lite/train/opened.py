"""A run opened for reading: what eval, predict and export share."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from marius_lite.checkpoint import run_folder
from marius_lite.checkpoint.arrays import check_arrays
from marius_lite.checkpoint.dense import read_dense
from marius_lite.checkpoint.find import hold
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import State, read_state
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.encode.vectors import InputRows, rows_behind, vector_rows
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.tasks.link_prediction import make_model
from marius_lite.tasks.node_classification import make_classifier
from marius_lite.train import build


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint of a run: where it is, how it was configured, the memory to read it in, its learned rows with their
    checksums. It is not pruned before it is closed."""

    run: RunFolder
    path: Path
    state: State
    config: Config
    memory: MemoryPlan
    dataset: Dataset
    table: RowTable | None
    _stack: ExitStack = field(repr=False)

    def close(self) -> None:
        self._stack.close()


@dataclass(frozen=True)
class OpenedRun:
    """A link-prediction checkpoint: ``buffer`` holds what its decoder scores, rows or an encoder's vectors of them."""

    run: RunFolder
    checkpoint: Path
    config: Config
    dataset: Dataset
    buffer: PartitionBuffer
    model: LinkPredictionModel
    _stack: ExitStack = field(repr=False)

    def close(self) -> None:
        self._stack.close()


def open_checkpoint(path: Path, name: str | None, moved_to: Path | None = None) -> Checkpoint:
    """``moved_to``: where the run's dataset is now. Raises UserError where there is no such checkpoint or dataset."""
    run = RunFolder(path)
    record = run_folder.read_record(run)
    dataset = run_folder.open_dataset(run, record, moved_to)
    held = hold(run, name)
    if held is None:
        raise UserError(f"{path}: no checkpoint yet: `marius-lite resume {path}` trains until there is one")
    with ExitStack() as stack:
        stack.callback(os.close, held[1])
        state = read_state(held[0])
        if state.fingerprint != dataset.fingerprint:
            raise UserError(f"{held[0]}: belongs to another dataset than {dataset.path}")
        config, memory = build.resolved(dataset, run_folder.config_of(run, record))
        build.prepare_torch(config)
        check_arrays(held[0], state.arrays)
        table = build.open_table(held[0], dataset, config, state.checksums)
        return Checkpoint(run, held[0], state, config, memory, dataset, table, stack.pop_all())


def open_run(path: Path, checkpoint: str | None, moved_to: Path | None = None) -> OpenedRun:
    """A link-prediction checkpoint by its name. Raises UserError where there is none."""
    return open_links(open_checkpoint(path, checkpoint, moved_to))


def open_links(found: Checkpoint) -> OpenedRun:
    """A checkpoint behind a read-only buffer, and its model; it is closed with them. Raises UserError for one that predicts no
    links."""
    with ExitStack() as stack:
        stack.callback(found.close)
        return _open_links(found, stack)


def _open_links(found: Checkpoint, stack: ExitStack) -> OpenedRun:
    config = found.config
    if config.task != "link_prediction":
        raise UserError(f"{found.run.path}: its task is {config.task}, it has no links to predict: "
                        "`marius-lite predict` without queries, or `ml.predict_nodes`, gives the classes of nodes")
    model = make_model(found.dataset, config)
    build.load_weights(model, read_dense(found.path, found.state.dense), found.path)
    model.eval()
    if model.encoder is None:
        assert found.table is not None
        buffer = stack.enter_context(rows_behind(found.table, config, found.memory.slots))
    else:
        inputs = InputRows(found.dataset, config, found.table)
        buffer = stack.enter_context(vector_rows(found.dataset, config, model.encoder, inputs, found.memory.slots,
                                                 found.run.path))
    return OpenedRun(found.run, found.path, config, found.dataset, buffer, model, stack.pop_all())


def open_classifier(found: Checkpoint) -> NodeClassifier:
    """The model of a node-classification checkpoint."""
    model = make_classifier(found.dataset, found.config, trains=False)
    build.load_weights(model, read_dense(found.path, found.state.dense), found.path)
    return model.eval()
