"""Open a link-prediction checkpoint for questions: its model, and what its decoder scores."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from marius_lite.checkpoint.dense import load_weights, read_dense
from marius_lite.config.schema import Config
from marius_lite.encode.vectors import rows_behind, vector_rows
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.tasks.checkpoint import Checkpoint, open_checkpoint
from marius_lite.tasks.link_model import make_model


@dataclass(frozen=True)
class OpenedRun:
    """An open link-prediction checkpoint. ``buffer``: what its decoder scores, rows or an encoder's vectors of them."""

    checkpoint: Path
    config: Config
    dataset: Dataset
    buffer: PartitionBuffer
    model: LinkPredictionModel
    _stack: ExitStack = field(repr=False)

    def close(self) -> None:
        self._stack.close()


def open_run(path: Path, checkpoint: str | None, moved_to: Path | None = None) -> OpenedRun:
    """Open a link-prediction checkpoint by its name, as `open_checkpoint` does. Raises UserError where there is none."""
    return open_links(open_checkpoint(path, checkpoint, moved_to))


def open_links(checkpoint: Checkpoint, scores: bool = True) -> OpenedRun:
    """Open a checkpoint's model, and a read-only buffer of what it scores. The checkpoint is closed with them.

    ``scores``: whether the model will be asked for scores. Then it is where the run was trained, as it is where an encoder makes
    the vectors; else on the CPU. Raises UserError for a checkpoint of another task.
    """
    config, dataset, table, memory = checkpoint.config, checkpoint.dataset, checkpoint.table, checkpoint.memory
    with ExitStack() as stack:
        stack.callback(checkpoint.close)
        model = read_model(checkpoint)
        if scores or model.encoder is not None:
            model = model.to(checkpoint.device)
        if model.encoder is None:
            assert table is not None
            buffer = stack.enter_context(rows_behind(table, config, memory.slots))
        else:
            buffer = stack.enter_context(vector_rows(dataset, config, model.encoder, table, memory, checkpoint.run.path))
        return OpenedRun(checkpoint.path, config, dataset, buffer, model, stack.pop_all())


def read_model(checkpoint: Checkpoint) -> LinkPredictionModel:
    """Return a checkpoint's model, ready to evaluate, on the CPU. Raises UserError for a checkpoint of another task."""
    config = checkpoint.config
    if config.task != "link_prediction":
        raise UserError(
            f"{checkpoint.run.path}: its task is {config.task}, it has no links to predict: "
            "`marius-lite predict` without queries, or `ml.predict_nodes`, gives the classes of nodes"
        )
    model = make_model(checkpoint.dataset, config)
    load_weights(model, read_dense(checkpoint.path, checkpoint.state.dense), checkpoint.path)
    return model.eval()
