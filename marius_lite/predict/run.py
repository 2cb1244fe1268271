"""What a run is, before it is asked."""

from __future__ import annotations

from pathlib import Path


def task_of(run: Path | str) -> str:
    """Return the task of a run: link_prediction or node_classification. Raises UserError for a folder that is no run."""
    from marius_lite.checkpoint.run_folder import RunFolder, read_record

    return str(read_record(RunFolder.to_read(run))["config"]["task"])


def reads_features(run: Path | str) -> bool:
    """Return whether the model of a run begins with the nodes' features. Raises UserError for a folder that is no run."""
    from marius_lite.checkpoint.run_folder import RunFolder, config_of, read_record

    folder = RunFolder.to_read(run)
    return config_of(folder, read_record(folder)).reads_features
