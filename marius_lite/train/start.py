"""What a run starts from: a new folder, or the checkpoint of one that stands."""

from __future__ import annotations

import platform
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.checkpoint import run_folder
from marius_lite.checkpoint import save as checkpoints
from marius_lite.checkpoint.find import find
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import Cursor, State, read_state
from marius_lite.config import machine, presets
from marius_lite.config.first_negatives import without_first
from marius_lite.config.load import check, load, require_config, settings
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.packing import Packing
from marius_lite.config.pooling import Pooling
from marius_lite.config.schedule import checkpoints_kept
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import check_device
from marius_lite.device.library import passed_over
from marius_lite.encode.mixed_rows import mixed_rows
from marius_lite.encode.vectors import SCRATCH
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.inputs import gathered_disk
from marius_lite.log import log
from marius_lite.machine_process import this_process
from marius_lite.metrics import read
from marius_lite.nn.ways import require_way
from marius_lite.processes.apart import own_folder
from marius_lite.rows.table import table_bytes
from marius_lite.tasks.epoch_products import long_epochs
from marius_lite.tasks.resolved import resolved, scoring_rates
from marius_lite.temporary import remove_scratch
from marius_lite.train.parts import Parts
from marius_lite.warm.frozen import WARM, require_frozen
from marius_lite.warm.start import WarmStart, open_warm_start, settings_of

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
    "storage.cache",
    "storage.prefetch",
    "storage.io_threads",
    "storage.direct_io",
    "storage.device_",
    "storage.gather_sms",
    "sampling.device",
)


GivenFor = Callable[[Dataset], Config]


@dataclass(frozen=True)
class Start:
    """Where a run starts. ``config``: without ``auto``, with its ``memory``. ``saved``: the checkpoint to go on from, if any.

    ``anew``: whether figures before it are of another kind than later. ``finished``: the last state, where nothing is left to
    train. ``warm``: what the beginning of a run is made of, if another run gives it. ``folders``: which
    folder each process has, see `processes.apart`.
    """

    folder: RunFolder
    dataset: Dataset
    config: Config
    memory: MemoryPlan
    saved: Path | None = None
    anew: bool = False
    finished: State | None = None
    warm: WarmStart | None = None
    folders: Sequence[int] = (0,)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is open: the first of several processes alone makes the first rows."""
        return {**self.__dict__, "warm": None}

    def first_state(self, data: Dataset, parts: Parts) -> State:
        """Make the first rows, where rows are learned, and the first weights. Returns the state before the first batch."""
        with mixed_rows(data, self.config, self.folder.path) as mixed:
            rows = parts.work.initialise(data.edges("train"), mixed, self.warm.rows if self.warm else None)
        if self.warm:
            self.warm.load(parts.model, parts.optimizer)
        return State(Cursor(), data.fingerprint, rows, 0)


@contextmanager
def new_run(
    dataset: Path, run: Path | str, config: Config | GivenFor | None, warm: Path | None = None
) -> Generator[Start, None, None]:
    """Make the folder of a new run, locked until the block ends.

    ``config``: as given, or a function of the dataset that says it; None: that of ``warm``, or the preset that suits. ``warm``:
    see `train.run.train_run`. Raises UserError for wrong input.
    """
    require_config(config)
    data = Dataset.open(dataset)
    given = config(data) if callable(config) else config or config_for(data, settings_of(warm) if warm else None)
    settings, memory = resolved(data, given if warm is None else without_first(given))
    _require_lanes(settings)
    _require_cache(data, settings)
    check_device(settings.device)
    require_way(settings.training.scoring, settings.training.precision)
    for line in [*passed_over(given, settings.device), *long_epochs(data, settings)]:
        log.info("%s", line)
    _require_disk(RunFolder.to_write(run).path, data, settings, memory.packing or memory.pooling)
    with ExitStack() as stack:
        before = None if warm is None else stack.enter_context(closing(open_warm_start(warm, data, settings)))
        record = {} if before is None else {WARM: before.record}
        require_frozen(settings, record.get(WARM), data)
        folder = stack.enter_context(run_folder.create(run, data, settings, _machine_facts(data, settings), record))
        yield Start(folder, data, settings, memory, warm=before)


@contextmanager
def elsewhere(start: Start, dataset: Path | None) -> Generator[Start, None, None]:
    """Give a start to a process that does not see the run's folder: with a folder and a dataset of its own.

    ``dataset``: where it has a copy of the dataset; None: at the place where the first process has it. Raises UserError where
    there is none, and for what needs the run's files.
    """
    place, known = dataset or Path(start.dataset.address or start.dataset.path), start.dataset.fingerprint
    data, training = Dataset.open(place, known), start.config.training
    if data.fingerprint != known:
        raise UserError(f"{place}: another dataset than that of the first process: copy that one to this machine")
    if training.freeze != "none" or training.replay != 1:
        raise UserError(
            f"{start.folder.name}: this process does not see the run's folder, which `training.freeze` and `training.replay` "
            "need: use a folder that all processes see"
        )
    with own_folder(start.folder.path) as folder:
        yield replace(start, folder=replace(start.folder, path=folder), dataset=data)


@contextmanager
def old_run(run: Path | str, checkpoint: str | None, sets: Sequence[str], dataset: Path | None) -> Generator[Start, None, None]:
    """Open the folder of a run at a checkpoint, locked until the block ends. See `train.run.resume_run`."""
    folder = RunFolder.to_write(run)
    if not folder.published:
        run_folder.read_record(folder)  # a folder that is no run gets no lock
    with folder.locked(), ExitStack() as stack:
        if folder.published:
            folder.published.take_over()
        record = run_folder.read_record(folder)
        stack.enter_context(run_folder.published_at_ends(folder))
        data = run_folder.open_dataset(folder, record, dataset)
        before = run_folder.config_of(folder, record)
        config, memory = resolved(data, _changed(before, sets))
        other = _other_precision(record, config, data)
        _require_lanes(config)
        _require_cache(data, config)
        require_way(config.training.scoring, config.training.precision)
        checkpoints.recover(folder)
        remove_scratch(folder.path, SCRATCH)
        saved = find(folder, checkpoint)
        if saved is None:
            log.info("%s has no checkpoint yet: training starts again, from its seed", folder.name)
        if sets or dataset is not None:
            others = {ANEW: True} if other or _figures(config) != _figures(before) else {}
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
            yield Start(folder, data, config, memory, saved, finished=finished)
            return
        if checkpoint is not None and saved is not None:
            checkpoints.go_back(folder, saved)
        anew = other or any(change.get(ANEW) and saved and change["at"] == saved.name for change in record.get("changes", []))
        if ahead := memory.packing or memory.pooling:
            _require_disk_ahead(folder.path, ahead)
        warm = None
        if saved is None and (said := record.get(WARM)):
            warm = stack.enter_context(closing(open_warm_start(Path(said["run"]), data, config, said)))
        yield Start(folder, data, config, memory, saved, anew, warm=warm)


def _other_precision(record: dict[str, Any], config: Config, data: Dataset) -> bool:
    """Return whether a run of an earlier version compares average precisions, which were those of the second of two classes."""
    older = "degree_unit" not in record["config"]["model"]
    return older and config.training.metric == "average_precision" and data.labels is not None and data.labels.classes == 2


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
    recorded = config.model_dump(mode="json")
    for item in sets:
        key = item.partition("=")[0]
        if not key.startswith(CHANGEABLE) and presets.merged(recorded, settings([item])) != recorded:
            raise UserError(
                f"--set {item}: `resume` cannot change `{key}`, because the rows and the order of batches depend "
                f"on it: only {', '.join(CHANGEABLE)} may change; start a new run for anything else"
            )
    merged = load(None, sets, recorded)
    return check(merged.model_dump(mode="json"), "configuration of the run")


def _require_cache(data: Dataset, config: Config) -> None:
    """Make room for the files of a dataset in object storage. Raises UserError where ``storage.cache`` is less than they take."""
    if data.checked.fetched:
        data.checked.fetched.require_room(None if config.storage.cache == "auto" else int(config.storage.cache))


def _require_lanes(config: Config) -> None:
    """Raise UserError where more processes were started than there are lanes, or another number than there are workers."""
    place, ranks = this_process(), config.scale.ranks
    if config.adapts and (place.count if place else 1) != ranks:
        raise UserError(
            f"`scale.mode` is adaptive and `scale.ranks` is {ranks}, so that {ranks} processes train, each as a worker: give "
            f"`--processes {ranks}`, or start as many by torchrun"
        )
    if place and place.count > ranks:
        raise UserError(
            f"{place.count} processes were started, but `scale.ranks` is {ranks}: start as many processes or fewer, or set "
            f"`scale.ranks` to {place.count} or more in a new run"
        )


def _require_disk(run: Path, data: Dataset, config: Config, ahead: Packing | Pooling | None) -> None:
    """Raise UserError where the disk lacks room for live rows and the kept checkpoints.

    Each counts in full: an epoch rewrites every partition, so they do not share files for long.
    """
    copies = 1 + checkpoints_kept(config)
    if table := table_bytes(data, config):
        files.require_space(run, table * copies, f"a run with {copies - 1} checkpoints at a time")
    if ahead:
        _require_disk_ahead(run, ahead)
    if size := gathered_disk(data, config):
        files.require_space(run, size, "what nodes gather for each layer (`training.method: layerwise`)")


def _require_disk_ahead(run: Path, ahead: Packing | Pooling) -> None:
    what = "rows are put in order" if isinstance(ahead, Packing) else "samples wait"
    files.require_space(
        run, ahead.disk, f"a run whose {what} on disk (`storage.packs_disk`; `sampling.scope: resident` takes none)"
    )


def _machine_facts(data: Dataset, config: Config) -> dict[str, Any]:
    return {
        "scoring_gflops": scoring_rates(data, config),
        "threads": machine.cpu_threads(),
        "memory": machine.total_memory(),
        "python": platform.python_version(),
        "torch": version("torch"),
    }
