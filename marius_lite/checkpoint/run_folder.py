"""The run folder: where the files of a run are, and the record that it was started with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

import marius_lite
from marius_lite import files
from marius_lite.config.load import check
from marius_lite.config.recorded import complete
from marius_lite.config.schema import Config
from marius_lite.config.yaml_text import parse_yaml
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.log import log
from marius_lite.remote.address import address_of
from marius_lite.remote.run import PublishedRun, published_run, run_to_read
from marius_lite.sealed import checksum_of

FORMAT_VERSION = 1
CHECKSUM, UNCHECKED = "checksum", "none"
LEFT_BY_A_KILLED_START = ("lock", "config.yaml.tmp")


@dataclass(frozen=True)
class RunFolder:
    """The paths of a run. The folder need not exist yet.

    ``address``: of the run in object storage that this folder is a copy of. ``published``: that run, for the process that
    writes it.
    """

    path: Path
    address: str = ""
    published: PublishedRun | None = field(default=None, compare=False, repr=False)

    @classmethod
    def to_read(cls, run: Path | str) -> RunFolder:
        """Return the folder of a run: itself, or, for an address in object storage, one with what the run has now."""
        return cls(run_to_read(run), str(address_of(run) or ""))

    @classmethod
    def to_write(cls, run: Path | str) -> RunFolder:
        """Return the folder that a run is written in: itself, or, for an address in object storage, its working copy."""
        published = published_run(run)
        return cls(published.folder, str(published.address), published) if published else cls(Path(run))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what only the process has that writes the run."""
        return {**self.__dict__, "published": None}

    @property
    def name(self) -> str:
        """What commands call the run: its folder or address."""
        return self.address or str(self.path)

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

    @property
    def event_files(self) -> Path:
        return self.path / "tensorboard"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the run against other processes until the block ends. Raises UserError where another has the lock."""
        if self.published:
            files.make_folder(self.path)
        with files.lock(self.path / "lock"):
            yield


@contextmanager
def create(
    path: Path | str, dataset: Dataset, config: Config, facts: dict[str, Any], more: Mapping[str, Any] | None = None
) -> Iterator[RunFolder]:
    """Make a new run folder with its record, locked until the block ends; ``more`` is added to the record. Raises UserError where
    something exists already."""
    run = RunFolder.to_write(path)
    if not run.published:
        _require_new(run.path)
    files.make_folder(run.path)
    with run.locked():
        if run.published:
            run.published.require_new()
        _require_new(run.path)  # another process may have been faster
        write_record(run, {**_new_record(run.path, dataset, config, facts), **(more or {})})
        with published_at_ends(run):
            yield run


@contextmanager
def published_at_ends(run: RunFolder) -> Iterator[None]:
    """Publish a run in object storage as it is now, and once more when the block ends without an error."""
    if run.published:
        run.published.publish()
    yield
    if run.published:
        run.published.publish()


def _require_new(path: Path) -> None:
    if path.exists() and (not path.is_dir() or any(p.name not in LEFT_BY_A_KILLED_START for p in path.iterdir())):
        raise UserError(f"{path}: exists already: `marius-lite resume {path}` continues it, or choose another --run folder")


def _new_record(path: Path, dataset: Dataset, config: Config, facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "program_version": marius_lite.__version__,
        "dataset": where(path, dataset),
        "machine": facts,
        "config": config.model_dump(mode="json"),
    }


def where(run: Path, dataset: Dataset) -> dict[str, str]:
    """Return the entry about the dataset for the record of the run in the folder ``run``."""
    return {
        "relative": os.path.relpath(dataset.path.resolve(), run.resolve()),
        "absolute": str(dataset.path.resolve()),
        **({"address": dataset.address} if dataset.address else {}),
        "fingerprint": dataset.fingerprint,
    }


def write_record(run: RunFolder, record: dict[str, Any]) -> None:
    """Write the record with its checksum. Raises RunError."""
    sealed = {**record, CHECKSUM: checksum_of(record)}
    files.write_atomic(run.config_file, yaml.safe_dump(sealed, sort_keys=False).encode())


def read_record(run: RunFolder) -> dict[str, Any]:
    """Read the record of an existing run. Raises UserError for a folder that is no run, a newer format, or a changed record."""
    files.check_encodable(run.path)
    try:
        record = parse_yaml(files.read(run.config_file))
        version, _, _ = record["format_version"], record["config"], record["dataset"]["fingerprint"]
    except FileNotFoundError:
        raise UserError(f"{run.path}: not a run folder (it has no config.yaml): `marius-lite train` makes one") from None
    except (KeyError, TypeError) as error:
        lacks = f"it has no `{error.args[0]}`" if isinstance(error, KeyError) else "it is no record of one"
        raise UserError(f"{run.config_file}: damaged, no run can be read from it: {lacks}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{run.config_file}: damaged, no run can be read from it: {error}") from None
    expected = record.pop(CHECKSUM, None)  # it is the last line, so a file that is cut short has none
    if version != FORMAT_VERSION:
        raise UserError(
            f"{run.path}: run format {version}, written by marius_lite {record.get('program_version')}; "
            f"this is marius_lite {marius_lite.__version__}, which reads format {FORMAT_VERSION}: "
            "use the version that wrote it"
        )
    if expected != UNCHECKED and not _is_sound(record, expected):
        fault = "cut short" if expected is None else "damaged"
        raise UserError(
            f"{run.config_file}: {fault}, or changed by hand: `resume --set` changes settings, `--dataset` tells "
            f"where a dataset was moved; to take the file as it is, give it the line `{CHECKSUM}: {UNCHECKED}`"
        )
    return dict(record)


def _is_sound(record: dict[str, Any], expected: Any) -> bool:
    try:
        return bool(expected == checksum_of(record))
    except (TypeError, ValueError):  # YAML has types that no record has
        return False


def config_of(run: RunFolder, record: dict[str, Any]) -> Config:
    """Return the configuration in a record. Raises UserError where it is not valid."""
    return check(complete(record["config"]), str(run.config_file))


def open_dataset(run: RunFolder, record: dict[str, Any], moved_to: Path | None = None) -> Dataset:
    """Open the dataset that the run was started on: at ``moved_to``, or where it was, by its relative path first.

    A place where it is damaged, or where another dataset is, is passed over with a warning. Raises UserError where there is no
    other.
    """
    said, wrong = record["dataset"], list[UserError]()
    beside = Path(os.path.normpath(run.path.resolve() / said["relative"]))  # relative to the run itself, not to a link to it
    places = [moved_to] if moved_to else [beside, Path(said["absolute"])]
    if not moved_to and said.get("address"):
        moved_to = Path(said["address"])  # what is kept of it on a machine is not the dataset's place
        places = [moved_to]
    for candidate in places:
        if moved_to or (candidate / "zarr.json").exists():
            try:
                dataset = _expected(run, Dataset.open(candidate, said["fingerprint"]), said["fingerprint"])
            except UserError as error:
                wrong.append(error)
                continue
            for why in wrong:
                log.warning("the run's dataset is taken from %s, where it was at the start; passed over: %s", candidate, why)
            return dataset
    if wrong:
        raise wrong[0]
    raise UserError(
        f"{run.path}: its dataset is neither at {said['relative']} (from the run) nor at {said['absolute']}: "
        "put it back there, or say with --dataset where it is now"
    )


def _expected(run: RunFolder, dataset: Dataset, fingerprint: str) -> Dataset:
    if dataset.fingerprint == fingerprint:
        return dataset
    raise UserError(
        f"{dataset.path}: this dataset's fingerprint is {dataset.fingerprint[:12]}, the run {run.path} was "
        f"started on {fingerprint[:12]}: put the original back, say with --dataset where it is, or start a new run"
    )
