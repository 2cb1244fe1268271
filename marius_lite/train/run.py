"""Start a run, or continue one."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.checkpoint import run_folder
from marius_lite.checkpoint import save as checkpoints
from marius_lite.checkpoint.arrays import check_arrays
from marius_lite.checkpoint.dense import load_weights, optimizer_state, read_dense, without_head
from marius_lite.checkpoint.find import find
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import Cursor, State, read_state
from marius_lite.config import machine
from marius_lite.config.load import check, load
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.packing import Packing
from marius_lite.config.schedule import checkpoints_kept
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import check_device
from marius_lite.device.library import passed_over
from marius_lite.encode.vectors import remove_left_vectors
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.inputs import gathered_disk
from marius_lite.graph.plans import absent_share, plans_of
from marius_lite.graph.remarks import doubtful, unused
from marius_lite.log import log
from marius_lite.metrics import MetricsLog, read
from marius_lite.nn.ways import require_way
from marius_lite.rows.table import create_table, open_table, table_bytes
from marius_lite.storage.table import RowTable
from marius_lite.tasks import task_of
from marius_lite.tasks.resolved import resolved, scoring_rates
from marius_lite.train.build import build, first_model
from marius_lite.train.parts import Parts
from marius_lite.train.stages import TrainingStage, stages
from marius_lite.train.trainer import Trainer
from marius_lite.waiting import threads_spin

ANEW = "figures_anew"
"""The key of a change in the record after which evaluations are of another kind than those before."""
CHANGEABLE = (
    "training.epochs",
    "training.early_stopping",
    "training.scoring",
    "training.products",
    "optimizer.rows.lr",
    "optimizer.dense.lr",
    "optimizer.schedule.",
    "checkpoint.",
    "evaluation.",
    "storage.memory",
    "storage.packs_disk",
    "storage.prefetch",
    "storage.io_threads",
    "storage.direct_io",
    "storage.device_",
    "storage.gather_sms",
    "sampling.device",
)


def train_run(dataset: Path | str, run: Path | str, config: Config | None = None) -> dict[str, Any]:
    """Train from the first epoch. Returns a summary of the finished run.

    Without a ``config`` the preset that suits the dataset is taken.

    Raises UserError for wrong input, RunError when the run fails, Interrupted after a signal and its checkpoint.
    """
    data = Dataset.open(Path(dataset))
    given = config or config_for(data, None)
    settings, memory = resolved(data, given)
    check_device(settings.device)
    require_way(settings.training.scoring, settings.training.precision)
    for line in passed_over(given, settings.device):
        log.info("%s", line)
    _require_disk(Path(run), data, settings, memory.packing)
    with run_folder.create(Path(run), data, settings, _machine_facts(data, settings)) as folder:
        return _run(folder, data, settings, memory)


def resume_run(
    run: Path | str, checkpoint: str | None = None, sets: Sequence[str] = (), dataset: Path | str | None = None
) -> dict[str, Any]:
    """Continue a run from its latest checkpoint, or the one named. Returns a summary of the finished run.

    A run without any checkpoint starts again from its seed. ``sets``: settings to change, as ``key=value``. ``dataset``: where
    the run's dataset is, if it was moved; the run remembers it. Raises UserError for settings that `resume` cannot change, and
    what `train_run` raises.
    """
    folder = RunFolder(Path(run))
    record = run_folder.read_record(folder)
    with folder.locked():
        data = run_folder.open_dataset(folder, record, Path(dataset) if dataset is not None else None)
        before = run_folder.config_of(folder, record)
        config, memory = resolved(data, _changed(before, sets))
        require_way(config.training.scoring, config.training.precision)
        checkpoints.recover(folder)
        remove_left_vectors(folder.path)
        saved = find(folder, checkpoint)
        if saved is None:
            log.info("%s has no checkpoint yet: training starts again, from its seed", folder.path)
        if sets or dataset is not None:
            others = {ANEW: True} if _figures(config) != _figures(before) else {}
            change = [{"at": saved.name if saved else Cursor().name, "set": list(sets), **others}] if sets else []
            record = {
                **record,
                "dataset": run_folder.where(folder.path, data),
                "config": config.model_dump(mode="json"),
                "changes": [*record.get("changes", []), *change],
            }
            run_folder.write_record(folder, record)
        finished = _finished(folder, config, saved)
        if finished:
            return {
                **_summary(folder, finished, config.training.metric),
                "finished": "already: `--set training.epochs=N` trains further",
            }
        if checkpoint is not None and saved is not None:
            checkpoints.go_back(folder, saved)
        anew = any(change.get(ANEW) and saved and change["at"] == saved.name for change in record.get("changes", []))
        if memory.packing:
            _require_disk_of_packs(folder.path, memory.packing)
        return _run(folder, data, config, memory, saved, anew)


def _figures(config: Config) -> dict[str, Any]:
    """Return the settings that a figure's meaning depends on. Those of two evaluations are compared only where they are equal."""
    return config.evaluation.model_dump(exclude={"every_epochs"})


def _finished(folder: RunFolder, config: Config, saved: Path | None) -> State | None:
    """Return the state of a run whose epochs are trained and whose last evaluation is made; None for any other."""
    state = read_state(saved) if saved else None
    if state is None or state.cursor.epoch < config.training.epochs:
        return None
    evaluations = [line for line in read(folder.metrics_file, state.metrics_length) if line["kind"] == "evaluation"]
    if state.evaluate and evaluations and config.checkpoint.keep_best:
        return state.ranked(config.training.metric, evaluations[-1][config.training.metric])
    return state if evaluations or not state.evaluate else None


def _changed(config: Config, sets: Sequence[str]) -> Config:
    """Return the configuration with the settings in ``sets``. Raises UserError for those that may not change."""
    for item in sets:
        key = item.partition("=")[0]
        if not key.startswith(CHANGEABLE):
            raise UserError(
                f"--set {item}: `resume` cannot change `{key}`, because the rows and the order of batches depend "
                f"on it: only {', '.join(CHANGEABLE)} may change; start a new run for anything else"
            )
    merged = load(None, sets, config.model_dump(mode="json"))
    return check(merged.model_dump(mode="json"), "configuration of the run")


def _run(
    folder: RunFolder, data: Dataset, config: Config, memory: MemoryPlan, saved: Path | None = None, anew: bool = False
) -> dict[str, Any]:
    """Train from a checkpoint on, or from the beginning. ``anew``: whether figures before it are of another kind than later."""
    if saved is None:
        files.remove_tree(folder.live)
        table = create_table(folder.live, data, config)
        state = None
    else:
        state = read_state(saved)
        if anew:
            log.info("evaluations are made in another way from here on: the best checkpoint is chosen among those that follow")
            state = state.measured_anew()
        if state.fingerprint != data.fingerprint:
            raise UserError(f"{saved}: belongs to another dataset than {data.path}")
        check_arrays(saved, state.arrays)
        checkpoints.restore_live(folder, saved)
        _tell_missing_lines(folder.metrics_file, state.metrics_length)
        table = open_table(folder.live, data, config, state.checksums)
    model = first_model(data, config)
    if saved is not None and state is not None and config.trains_layerwise:  # nodes gather with the weights of earlier layers
        load_weights(model, without_head(read_dense(saved, state.dense)), saved)
    announce = partial(_announce, data, config, memory, saved)
    with (
        closing(MetricsLog(folder.metrics_file, state.metrics_length if state else 0)) as metrics,
        closing(stages(data, config, model, folder.path, state)) as left,
    ):
        for stage in left:
            state = _train_stage(folder, stage, memory, metrics, table, state, saved, announce)
    assert state is not None
    return _summary(folder, state, config.training.metric)


def _train_stage(
    folder: RunFolder,
    stage: TrainingStage,
    memory: MemoryPlan,
    metrics: MetricsLog,
    table: RowTable | None,
    state: State | None,
    saved: Path | None,
    announce: Callable[[], None],
) -> State:
    """Train a stage from ``state`` on, or from the beginning. Returns the last state. Nothing of its memory stays.

    ``saved``: the checkpoint that the run goes on from, if any. ``announce``: says what is trained, once it can be.
    """
    with closing(build(folder, stage, memory, metrics, table)) as parts:
        if state is None:
            state = _first_state(stage.dataset, parts)
        elif not stage.goes_on_from(state):
            state = state.of_new_stage()
        elif saved is not None and stage.is_first:
            tensors = read_dense(saved, state.dense)
            load_weights(parts.model, tensors, saved)
            parts.optimizer.load_state_tensors(optimizer_state(tensors))
        if stage.is_first:
            announce()
        if stage.about:
            log.info("%s", stage.about)
        return Trainer(parts, state).train()


def _first_state(data: Dataset, parts: Parts) -> State:
    """Make the first rows, where rows are learned. Returns the state before the first batch."""
    return State(Cursor(), data.fingerprint, parts.work.initialise(data.edges("train")), 0)


def _announce(data: Dataset, config: Config, memory: MemoryPlan, saved: Path | None) -> None:
    """Log what is about to be trained, and warn of what may be a mistake."""
    storage = config.storage
    log.info(
        "%s %s: %s nodes, %s training edges; %s of %s partitions resident%s, %s of memory planned; on %s, %s thread%s%s",
        f"going on from checkpoint {saved.name} on" if saved else "training on",
        data.path,
        f"{data.manifest.nodes:,}",
        f"{data.manifest.edges['train']:,}",
        storage.capacity,
        data.partitioning.partitions,
        " by their rows, all by their edges" if memory.packing else f" ({storage.ordering})",
        files.format_bytes(memory.total),
        config.device,
        config.training.threads,
        "" if config.training.threads == 1 else "s",
        "" if config.training.scoring == "torch" else f", scores by {config.training.scoring}",
    )
    for line in unused(data.manifest, config):
        log.info("%s", line)
    sees_resident = config.encodes and not config.trains_layerwise
    if sees_resident and (share := absent_share(plans_of(data, config)(0), data.edges("train").counts)) > 0:
        log.info(
            "%.1f%% of the neighbours of %s, so that training does not see them: more %s make this less%s",
            100 * share,
            *_absent_where(config),
        )
    for line in [*doubtful(data.manifest, config), *task_of(config).leaks(data)]:
        log.warning("%s", line)
    if threads_spin() and config.device == "cpu" and int(config.training.threads) > 1:
        log.warning(
            "torch was loaded before marius_lite, so its threads spin while they wait, which can take a third of the speed: "
            "import marius_lite first, or start Python with GOMP_SPINCOUNT=1000"
        )


def _absent_where(config: Config) -> tuple[str, str, str]:
    """Return whose neighbours training does not see, of what there should be more, and what else would help."""
    if config.trains_clusters:
        return "a batch's partitions are in others", "partitions (storage.capacity), or fewer and larger ones,", ""
    exact = "" if config.learns_rows or config.task == "link_prediction" else "; `sampling.scope: exact` draws among all"
    return "resident nodes are not resident", "resident partitions (storage.memory)", exact


def _tell_missing_lines(metrics: Path, expected: int) -> None:
    """Warn where lines of metrics.jsonl from before the checkpoint are missing. The model is not touched by it."""
    length = metrics.stat().st_size if metrics.exists() else 0
    if length < expected:
        log.warning(
            "%s: %s bytes, %s at the checkpoint: lines of what was trained before it are missing", metrics, length, expected
        )


def _summary(folder: RunFolder, state: State, measure: str) -> dict[str, Any]:
    best = {"best_checkpoint": state.best.checkpoint, f"best_{measure}": state.best.value} if state.best else {}
    return {"run": str(folder.path), "epochs": state.cursor.epoch, "checkpoint": state.cursor.name, **best}


def _require_disk(run: Path, data: Dataset, config: Config, packing: Packing | None) -> None:
    """Raise UserError where the disk lacks room for live rows and the kept checkpoints.

    Each counts in full: an epoch rewrites every partition, so they do not share files for long.
    """
    copies = 1 + checkpoints_kept(config)
    if table := table_bytes(data, config):
        files.require_space(run, table * copies, f"a run with {copies - 1} checkpoints at a time")
    if packing:
        _require_disk_of_packs(run, packing)
    if size := gathered_disk(data, config):
        files.require_space(run, size, "what nodes gather for each layer (`training.method: layerwise`)")


def _require_disk_of_packs(run: Path, packing: Packing) -> None:
    files.require_space(
        run,
        packing.disk,
        "a run whose rows are put in order on disk (`storage.packs_disk`; `sampling.scope: resident` takes none)",
    )


def _machine_facts(data: Dataset, config: Config) -> dict[str, Any]:
    return {
        "scoring_gflops": scoring_rates(data, config),
        "threads": machine.cpu_threads(),
        "memory": machine.total_memory(),
        "python": platform.python_version(),
        "torch": version("torch"),
    }
