"""The run folder: where everything of a run stands, and the record it was started with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import marius_lite
from marius_lite import files
from marius_lite.config.load import check
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset

FORMAT_VERSION = 1
LEFT_BY_A_KILLED_START = ("lock", "config.yaml.tmp")


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run; the folder need not exist yet."""

    path: Path

    @property
    def config_file(self) -> Path:
        return self.path / "config.yaml"

    @property
    def metrics_file(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def live(self) -> Path:
        return self.path / "live"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def evaluations(self) -> Path:
        return self.path / "eval"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process off the run until the block ends."""
        with files.lock(self.path / "lock"):
            yield


@contextmanager
def create(path: Path, dataset: Dataset, config: Config, facts: dict[str, Any]) -> Iterator[RunFolder]:
    """A new run folder with its record, locked until the block ends. Raises UserError where something stands already."""
    _require_new(path)
    files.make_folder(path)
    run = RunFolder(path)
    with run.locked():
        _require_new(path)  # another process may have been faster
        write_record(run, _new_record(path, dataset, config, facts))
        yield run


def _require_new(path: Path) -> None:
    if path.exists() and (not path.is_dir() or any(p.name not in LEFT_BY_A_KILLED_START for p in path.iterdir())):
        raise UserError(f"{path}: exists already: `marius-lite resume {path}` continues it, or choose another --run folder")


def _new_record(path: Path, dataset: Dataset, config: Config, facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "program_version": marius_lite.__version__,
        "dataset": {"relative": os.path.relpath(dataset.path.resolve(), path.resolve()),
                    "absolute": str(dataset.path.resolve()), "fingerprint": dataset.fingerprint},
        "machine": facts,
        "config": config.model_dump(mode="json"),
    }


def write_record(run: RunFolder, record: dict[str, Any]) -> None:
    files.write_atomic(run.config_file, yaml.safe_dump(record, sort_keys=False).encode())


def read_record(run: RunFolder) -> dict[str, Any]:
    """The record of an existing run. Raises UserError for what is no run or a newer one."""
    try:
        record = yaml.safe_load(run.config_file.read_text())
        version, _, _ = record["format_version"], record["config"], record["dataset"]["fingerprint"]
    except FileNotFoundError:
        raise UserError(f"{run.path}: not a run folder (it has no config.yaml): `marius-lite train` makes one") from None
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise UserError(f"{run.config_file}: damaged, no run can be read from it: {error}") from None
    if version != FORMAT_VERSION:
        raise UserError(f"{run.path}: run format {version}, written by marius_lite {record.get('program_version')}; "
                        f"this is marius_lite {marius_lite.__version__}, which reads format {FORMAT_VERSION}: "
                        "use the version that wrote it")
    return dict(record)


def config_of(run: RunFolder, record: dict[str, Any]) -> Config:
    return check(record["config"], str(run.config_file))


def open_dataset(run: RunFolder, record: dict[str, Any]) -> Dataset:
    """The dataset the run was started on, by its relative path first. Raises UserError if it is gone or another."""
    said = record["dataset"]
    for candidate in (run.path / said["relative"], Path(said["absolute"])):
        if (candidate / "zarr.json").exists():
            dataset = Dataset.open(Path(os.path.normpath(candidate)))
            if dataset.fingerprint != said["fingerprint"]:
                raise UserError(f"{dataset.path}: this dataset's fingerprint is {dataset.fingerprint[:12]}, the run {run.path} "
                                f"was started on {said['fingerprint'][:12]}: put the original dataset back or start a new run")
            return dataset
    raise UserError(f"{run.path}: its dataset is neither at {said['relative']} (from the run) nor at {said['absolute']}: "
                    "put it back there")
