"""A run opened for reading: what eval, predict and export share."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from marius_lite.checkpoint import run_folder, save
from marius_lite.checkpoint.dense import read_dense
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import read_state
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.train import build
from marius_lite.train.build_links import make_model
from marius_lite.train.build_nodes import make_classifier
from marius_lite.train.vectors import InputRows, rows_behind, vector_rows


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint of a run: where it is, how it was configured, the memory to read it in, its learned rows."""

    run: RunFolder
    path: Path
    config: Config
    memory: MemoryPlan
    dataset: Dataset
    table: RowTable | None


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


def open_checkpoint(path: Path, name: str | None) -> Checkpoint:
    """Raises UserError where there is none."""
    run = RunFolder(path)
    record = run_folder.read_record(run)
    dataset = run_folder.open_dataset(run, record)
    place = save.find(run, name)
    if place is None:
        raise UserError(f"{path}: no checkpoint yet: `marius-lite resume {path}` trains until there is one")
    config, memory = build.resolved(dataset, run_folder.config_of(run, record))
    build.prepare_torch(config)
    return Checkpoint(run, place, config, memory, dataset, build.open_table(place, config))


def open_run(path: Path, checkpoint: str | None) -> OpenedRun:
    """A link-prediction checkpoint by its name. Raises UserError where there is none."""
    return open_links(open_checkpoint(path, checkpoint))


def open_links(found: Checkpoint) -> OpenedRun:
    """A checkpoint behind a read-only buffer, and its model. Raises UserError for one that predicts no links."""
    config = found.config
    if config.task != "link_prediction":
        raise UserError(f"{found.run.path}: its task is {config.task}, it has no links to predict: "
                        "`marius-lite predict` without queries, or `ml.predict_nodes`, tells the classes of nodes")
    state = read_state(found.path)
    model = make_model(found.dataset, config)
    model.load_state_dict(build.model_weights(read_dense(found.path, state.dense)))
    model.eval()
    with ExitStack() as stack:
        if model.encoder is None:
            assert found.table is not None
            buffer = stack.enter_context(rows_behind(found.table, config, found.memory.slots))
            buffer.expect(state.checksums)
        else:
            inputs = InputRows(found.dataset, config, found.table)
            buffer = stack.enter_context(vector_rows(found.dataset, config, model.encoder, inputs, found.memory.slots,
                                                     found.run.path))
        return OpenedRun(found.run, found.path, config, found.dataset, buffer, model, stack.pop_all())


def open_classifier(found: Checkpoint) -> NodeClassifier:
    """The model of a node-classification checkpoint."""
    model = make_classifier(found.dataset, found.config)
    model.load_state_dict(build.model_weights(read_dense(found.path, read_state(found.path).dense)))
    return model.eval()
