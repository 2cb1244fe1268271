"""What a report is about: runs, each with its record, its history and, where it is still there, its dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marius_lite.checkpoint import run_folder
from marius_lite.checkpoint.find import find
from marius_lite.checkpoint.lines import missing_lines
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import read_state
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.log import log
from marius_lite.report.history import History, read_history


@dataclass(frozen=True)
class Subject:
    """A run. ``name``: what it is called on the page. ``dataset``: None where it is gone, and ``missing`` says why.

    ``lacks``: what is said where lines of metrics.jsonl are missing.
    """

    name: str
    folder: RunFolder
    record: dict[str, Any]
    config: Config
    history: History
    dataset: Dataset | None
    missing: str
    lacks: str


def subjects_of(runs: Sequence[Path], dataset: Path | None = None) -> list[Subject]:
    """Read runs. ``dataset``: where theirs is, if it was moved. Raises UserError for a folder that is no run."""
    names = _names([run.resolve() for run in runs])
    return [_subject(run, name, dataset) for run, name in zip(runs, names)]


def _subject(run: Path, name: str, moved_to: Path | None) -> Subject:
    folder = RunFolder.to_read(run)
    record = run_folder.read_record(folder)
    config = run_folder.config_of(folder, record)
    history = read_history(folder.metrics_file)
    try:
        dataset, missing = run_folder.open_dataset(folder, record, moved_to), ""
    except UserError as error:
        if moved_to:
            raise
        dataset, missing = None, str(error)
    return Subject(name, folder, record, config, history, dataset, missing, _lacks(folder))


def _lacks(folder: RunFolder) -> str:
    """Return what to say, and warn, where the latest checkpoint knows more of metrics.jsonl than there is."""
    try:
        latest = find(folder, None)
        said = missing_lines(folder.metrics_file, read_state(latest).metrics_length) if latest else ""
    except UserError:  # a damaged checkpoint says nothing, and its curves are still there
        return ""
    if said:
        log.warning("%s", said)
    return said


def _names(paths: Sequence[Path]) -> list[str]:
    """Return short names: the last parts of paths, as many as make them different."""
    for count in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-count:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    raise UserError("the same run is given twice: name each once")
