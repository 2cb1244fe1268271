"""Describe a run for `info`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from marius_lite.checkpoint.arrays import ROWS, check_arrays
from marius_lite.checkpoint.dense import read_dense
from marius_lite.checkpoint.find import BEST, find, hold, named, pointed, published
from marius_lite.checkpoint.lines import missing_lines
from marius_lite.checkpoint.run_folder import RunFolder, config_of, read_record
from marius_lite.checkpoint.state import STATE, read_state
from marius_lite.config.planning import planning_of
from marius_lite.errors import UserError
from marius_lite.storage.chunks import first_damaged


def describe_run(folder: Path, verify: bool) -> dict[str, Any]:
    """Return a description of a run's record and checkpoints. With ``verify`` every chunk of every checkpoint is compared, and
    the length of metrics.jsonl with what the latest says: one that `resume --checkpoint` left behind may know more of it.

    ``verified`` is False where there was none to compare. ``warnings`` name folders that are no whole checkpoints. Raises
    UserError for what is damaged.
    """
    run = RunFolder.to_read(folder)
    record = read_record(run)
    checkpoints, latest = published(run), find(run, None)
    facts = {
        "kind": "run",
        "path": run.name,
        "program_version": record["program_version"],
        **record["dataset"],
        "checkpoints": [path.name for path in checkpoints],
        "latest": latest.name if latest else None,
    }
    if best := pointed(run, BEST):
        facts["best"] = best
    if changes := record.get("changes"):
        facts["changes"] = [f"from {change['at']} on: {' '.join(change['set'])}" for change in changes]
    verified = [_verified(run, path.name, bool(latest and path.name == latest.name)) for path in checkpoints] if verify else []
    config = config_of(run, record)
    return {
        **facts,
        "task": config.task,
        **planning_of(config).described(config),
        "epochs": config.training.epochs,
        "capacity": config.storage.capacity,
        "ordering": config.storage.ordering,
        **({"mode": config.scale.mode, "deterministic": False} if config.adapts else {}),
        "device": config.device,
        "scoring": config.training.scoring,
        "scoring_gflops": record.get("machine", {}).get("scoring_gflops", {}),
        "verified": any(verified),
        "warnings": [
            f"{path}: no whole checkpoint, it has no {STATE}: it was lost, or the folder's removal was cut short"
            for path in named(run)
            if path not in checkpoints
        ],
    }


def _verified(run: RunFolder, name: str, is_latest: bool) -> bool:
    """Verify a checkpoint, and with the latest metrics.jsonl. Returns False where the run removed it meanwhile."""
    try:
        found = hold(run, name)
    except UserError:
        if (run.checkpoints / name).exists():
            raise
        return False
    assert found
    path, descriptor = found
    try:
        verify_checkpoint(path)
        if is_latest and (said := missing_lines(run.metrics_file, read_state(path).metrics_length)):
            raise UserError(f"{said}, the checkpoints are whole")
    finally:
        os.close(descriptor)
    return True


def verify_checkpoint(path: Path) -> None:
    """Raise UserError for the first file that has another checksum than the checkpoint says."""
    state = read_state(path)
    check_arrays(path, state.arrays)
    read_dense(path, state.dense)
    if (file := first_damaged(path / ROWS, state.checksums)) is not None:
        raise UserError(f"{file}: missing or does not match its checksum: resume from another checkpoint with --checkpoint")
