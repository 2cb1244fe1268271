"""Start a run, or continue one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from marius_lite import files
from marius_lite.checkpoint import save as checkpoints
from marius_lite.checkpoint.arrays import check_arrays
from marius_lite.checkpoint.dense import load_weights, optimizer_state, read_dense, without_head
from marius_lite.checkpoint.lines import missing_lines
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import State, read_state
from marius_lite.config import first_negatives
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schedule import warmup_told
from marius_lite.config.schema import Config
from marius_lite.config.unseen import unseen
from marius_lite.counted import counted
from marius_lite.errors import DiskFull, UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.plans import absent_share, plans_of
from marius_lite.graph.remarks import doubtful, unused
from marius_lite.log import log
from marius_lite.machine_process import this_process
from marius_lite.metrics import MetricsLog, NoMetrics, each
from marius_lite.metrics.event_files import TensorBoardCurves, require_tensorboard
from marius_lite.processes.apart import folders_of
from marius_lite.processes.group import ProcessGroup
from marius_lite.processes.one_process import OneProcess, Processes
from marius_lite.rows.table import create_table, open_table
from marius_lite.sizes import format_bytes
from marius_lite.storage.table import RowTable
from marius_lite.tasks import task_of
from marius_lite.tasks.resolved import resident_nodes
from marius_lite.train.adaptive import NOT_DETERMINISTIC, AdaptiveTrainer
from marius_lite.train.build import build_lanes, first_model
from marius_lite.train.lanes import LanesTrainer
from marius_lite.train.stages import TrainingStage, stages
from marius_lite.train.start import GivenFor, Start, elsewhere, new_run, old_run
from marius_lite.train.trainer import Trainer
from marius_lite.waiting import threads_spin


def train_run(
    dataset: Path | str,
    run: Path | str,
    config: Config | GivenFor | None = None,
    warm: Path | str | None = None,
    tensorboard: bool = False,
) -> dict[str, Any]:
    """Train from the first epoch. Returns a summary of the finished run.

    ``config``: the configuration, or a function of the dataset that gives it; None: the preset that suits the dataset.
    ``warm``: a run over an older version of the dataset. Known nodes and relations begin with what it learned; new nodes with the
    mean of their neighbours' rows. ``tensorboard``: whether the run's folder gets event files for TensorBoard, in tensorboard/.
    Where `torchrun` has started several processes again, the run goes on instead.

    Raises UserError for wrong input, RunError when the run fails, Interrupted after a signal and its checkpoint.
    """
    before = Path(warm) if warm is not None else None

    def start(has_begun: bool) -> AbstractContextManager[Start]:
        if has_begun:
            return old_run(run, None, (), Path(dataset))
        return new_run(Path(dataset), run, config, before)

    return _in_processes(start, tensorboard, Path(dataset))


def resume_run(
    run: Path | str,
    checkpoint: str | None = None,
    sets: Sequence[str] = (),
    dataset: Path | str | None = None,
    tensorboard: bool = False,
) -> dict[str, Any]:
    """Continue a run from its latest checkpoint, or the one named. Returns a summary of the finished run.

    A run without any checkpoint starts again from its seed. ``sets``: settings to change, as ``key=value``. ``dataset``: where
    the run's dataset is, if it was moved; the run remembers it. Raises UserError for settings that `resume` cannot change, and
    what `train_run` raises.
    """
    moved = Path(dataset) if dataset is not None else None
    return _in_processes(lambda has_begun: old_run(run, checkpoint, sets, moved), tensorboard, moved)


def _in_processes(
    start: Callable[[bool], AbstractContextManager[Start]], tensorboard: bool, dataset: Path | None
) -> dict[str, Any]:
    """Train what the first process starts, in this process or beside others. Returns a summary.

    ``start`` is told whether the run had begun before all processes were started again. ``dataset``: where this process finds
    the dataset, if it does not see the first one's files; None: where that one has it.
    """
    if tensorboard:
        require_tensorboard()
    place = this_process()
    processes: Processes = ProcessGroup(place) if place else OneProcess()
    with ExitStack() as stack:
        stack.callback(processes.leave)
        started = processes.first(lambda: stack.enter_context(start(processes.has_begun)))
        processes.begin()
        if place:
            started = replace(started, folders=folders_of(processes, started.folder.path))
        if started.folders[processes.rank]:
            started = stack.enter_context(elsewhere(started, dataset))
        try:
            summary = _run(started, processes, tensorboard and processes.is_first)
        except DiskFull as error:
            raise error.to_go_on(f"`marius-lite resume {started.folder.path}` goes on with the run") from error
        processes.close()
        return summary


def _run(start: Start, processes: Processes, tensorboard: bool) -> dict[str, Any]:
    """Train from where a run starts to its end. Returns a summary."""
    folder, data, config = start.folder, start.dataset, start.config
    if start.finished:
        return {
            **_summary(folder, start.finished, config.training.metric),
            "finished": "already: `--set training.epochs=N` trains further",
        }
    state = processes.first(lambda: _make_live(start))
    if start.folders[processes.rank]:
        create_table(folder.live, data, config)
    table = open_table(folder.live, data, config, state.checksums if state else None)
    model = first_model(data, config)
    if start.saved and state and config.trains_layerwise:  # nodes gather with the weights of earlier layers
        load_weights(model, without_head(read_dense(start.saved, state.dense)), start.saved)
    written = state.metrics_length if state else 0
    with (
        closing(MetricsLog(folder.metrics_file, written) if processes.is_first else NoMetrics()) as metrics,
        closing(stages(data, config, model, folder.path, state)) as left,
        ExitStack() as stack,
    ):
        if tensorboard:
            metrics.tell(stack.enter_context(closing(TensorBoardCurves(folder.event_files, each(folder.metrics_file)))).add)
        for stage in left:
            state = _train_stage(start, processes, stage, metrics, table, state)
    assert state is not None
    return _summary(folder, state, config.training.metric)


def _make_live(start: Start) -> State | None:
    """Make the files of the live rows. Returns the state that they are of; None where nothing is trained yet."""
    folder, data, saved = start.folder, start.dataset, start.saved
    if saved is None:
        files.remove_tree(folder.live)
        create_table(folder.live, data, start.config)
        return None
    state = read_state(saved)
    if start.anew:
        log.info("evaluations are made in another way from here on: the best checkpoint is chosen among those that follow")
        state = state.measured_anew()
    if state.fingerprint != data.fingerprint:
        raise UserError(f"{saved}: belongs to another dataset than {data.path}")
    check_arrays(saved, state.arrays)
    checkpoints.restore_live(folder, saved)
    if said := missing_lines(folder.metrics_file, state.metrics_length):
        log.warning("%s", said)
    return state


def _train_stage(
    start: Start, processes: Processes, stage: TrainingStage, metrics: MetricsLog, table: RowTable | None, state: State | None
) -> State:
    """Train a stage from ``state`` on, or from the beginning. Returns the last state. Nothing of its memory stays."""
    saved, scale, tensors = start.saved, stage.config.scale, dict[str, Tensor]()
    with ExitStack() as stack:
        lanes = build_lanes(start.folder, stage, start.memory, metrics, table, processes.lanes(scale.lanes))
        for parts in lanes:
            stack.callback(parts.close)
        parts = lanes[0]
        if state is None:
            state, weights = processes.first(lambda: (start.first_state(stage.dataset, parts), parts.dense_state()))
            if not processes.is_first:
                load_weights(parts.model, weights, start.folder.path)
                parts.optimizer.load_state_tensors(optimizer_state(weights))
        elif not stage.goes_on_from(state):
            state = state.of_new_stage()
        elif saved is not None and stage.is_first:
            tensors = processes.first(partial(read_dense, saved, state.dense))
            load_weights(parts.model, tensors, saved)
            parts.optimizer.load_state_tensors(optimizer_state(tensors))
        if stage.is_first:
            _announce(start.dataset, start.config, start.memory, saved)
        if stage.about:
            log.info("%s", stage.about)
        if scale.ranks == 1:
            return Trainer(parts, state).train()
        workers = AdaptiveTrainer(parts, state, processes, tensors) if stage.config.adapts else None
        return (workers or LanesTrainer(lanes, state, processes, start.folders)).train()


def _announce(data: Dataset, config: Config, memory: MemoryPlan, saved: Path | None) -> None:
    """Log what is about to be trained, and warn of what may be a mistake."""
    storage, ranks = config.storage, config.scale.ranks
    log.info(
        "%s %s: %s nodes, %s training edges; %s of %s resident%s, %s of memory planned%s; on %s, %s thread%s%s",
        f"going on from checkpoint {saved.name} on" if saved else "training on",
        data.path,
        f"{data.manifest.nodes:,}",
        f"{data.manifest.edges['train']:,}",
        storage.capacity,
        counted(data.partitioning.partitions, "partition"),
        " by their rows, all by their edges" if memory.packing or memory.pooling else f" ({storage.ordering})",
        format_bytes(memory.total),
        " for each process" if config.lanes_see_all else f" for each of {ranks} lanes" if ranks > 1 else "",
        config.device,
        config.training.threads,
        "" if config.training.threads == 1 else "s",
        "" if config.training.scoring == "torch" else f", scores by {config.training.scoring}",
    )
    first = first_negatives.told(config, resident_nodes(data, config))
    for line in [*([NOT_DETERMINISTIC] if config.adapts else []), *first, *warmup_told(config), *unused(data.manifest, config)]:
        log.info("%s", line)
    missed = unseen(config)
    if missed and (share := absent_share(plans_of(data, config)(0), data.edges("train").counts)) > 0:
        log.info(
            "%.1f%% of the neighbours of %s, so that training does not see them: more %s make this less%s", 100 * share, *missed
        )
    for line in [*doubtful(data.manifest, config), *task_of(config).leaks(data)]:
        log.warning("%s", line)
    if threads_spin() and config.device == "cpu" and int(config.training.threads) > 1:
        log.warning(
            "torch was loaded before marius_lite, so its threads spin while they wait, which can take a third of the speed: "
            "import marius_lite first, or start Python with GOMP_SPINCOUNT=1000"
        )


def _summary(folder: RunFolder, state: State, measure: str) -> dict[str, Any]:
    best = {"best_checkpoint": state.best.checkpoint, f"best_{measure}": state.best.value} if state.best else {}
    return {"run": folder.name, "epochs": state.cursor.epoch, "checkpoint": state.cursor.name, **best}
