"""Make the parts of a run and connect them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.first_negatives import first_time
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import check_device, open_accelerator
from marius_lite.encode.encoders import weight_decays
from marius_lite.encode.open import represent
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.plans import plans_of
from marius_lite.metrics import MetricsLog
from marius_lite.nn.torch_settings import prepare_torch
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.optim.shared import SharedWeights
from marius_lite.rows.open import device_rows, host_rows, open_buffers, packed_rows, pooled_rows
from marius_lite.rows.resident import ResidentRows
from marius_lite.storage.table import RowTable
from marius_lite.tasks import task_of
from marius_lite.tasks.resolved import resident_nodes
from marius_lite.tasks.task import Setting
from marius_lite.train.parts import Parts, Regularized
from marius_lite.train.stages import TrainingStage
from marius_lite.train.work import Work
from marius_lite.warm.frozen import freeze


def first_model(dataset: Dataset, config: Config) -> Any:
    """Set up torch for a run, and return its model with its first weights, where it is trained."""
    prepare_torch(config)
    return task_of(config).make_model(dataset, config, trains=True).to(check_device(config.device))


def dense_optimizer(config: Config, model: Any) -> DenseOptimizer:
    """Return what changes the weights of a model."""
    dense = config.optimizer.dense
    return DenseOptimizer(dense.name, model, dense.lr, weight_decays(config, model.encoder), dense.clip)


def build(
    run: RunFolder,
    stage: TrainingStage,
    memory: MemoryPlan,
    metrics: MetricsLog,
    table: RowTable | None,
    shared: SharedWeights | None = None,
) -> Parts:
    """Return the parts of a stage of a run. Its rows are the dataset's features, the learned rows in ``table``, or both.

    ``shared``: the weights, where there are several lanes.
    """
    dataset, config = stage.dataset, stage.config
    task, device = task_of(config), check_device(config.device)
    model = stage.model.to(device)
    optimizer = shared.optimizer if shared else dense_optimizer(config, model)
    accelerator = open_accelerator(device)
    rows: ResidentRows
    if memory.packing:
        rows = packed_rows(dataset, config, memory.packing, run.path)
    elif memory.pooling:
        assert table is not None
        rows = pooled_rows(dataset, config, memory.pooling, table, run.path)
    elif accelerator is None:
        rows = host_rows(open_buffers(dataset, config, memory.slots, table), dataset, config)
    else:
        buffers = open_buffers(dataset, config, memory.slots, table)
        rows = device_rows(accelerator, buffers, dataset, config, task.loads(dataset, config))
    freeze(run, config, dataset, rows, shared.optimizer if shared else optimizer)
    representation = represent(rows, accelerator, dataset, config, model.encoder, run.path)
    learning = task.learning(Setting(dataset, config, memory, run.path), rows, representation, model)
    work = Work(config, plans_of(dataset, config), learning, representation, shared or optimizer)
    return Parts(
        run,
        config,
        work,
        model,
        optimizer,
        [optimizer, *rows.rated()],
        metrics,
        model if isinstance(model, Regularized) else None,
        stage.first_epoch,
        stage.epochs,
        (config.first_epochs, first_time(config, resident_nodes(dataset, config))),
        shared,
    )


def build_lanes(
    run: RunFolder, stage: TrainingStage, memory: MemoryPlan, metrics: MetricsLog, table: RowTable | None, lanes: Sequence[int]
) -> list[Parts]:
    """Return the parts of some lanes of a stage: of each one, or of all where they share the rows.

    They have the weights in common. A lane that has no others owns them.
    """
    if stage.config.scale.lanes == 1:
        return [build(run, stage, memory, metrics, table)]
    weights = SharedWeights(dense_optimizer(stage.config, stage.model), stage.model)
    made: list[Parts] = []
    try:
        for each in [lanes] if stage.config.lanes_see_all else [[lane] for lane in lanes]:
            made.append(replace(build(run, stage, memory, metrics, table, weights), lanes=each))
    except BaseException:
        for parts in made:
            parts.close()
        raise
    return made
