"""Publish a checkpoint: link, sync, record, rename, point.

    live/ chunk files (each a finished write) --hard link--> .NAME.tmp/ + dense.safetensors
    sync all of it -> state.json, synced -> rename to NAME -> `latest` points to NAME -> older ones are removed

A crash before the rename leaves a temporary folder, which the next save removes. A crash after it leaves a whole checkpoint. The
files of a published checkpoint are never written again, because partition files are replaced, never changed. `storage.snapshots`
links, renames and removes. This module says in which order.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from marius_lite import files
from marius_lite.checkpoint.arrays import arrays_checksum
from marius_lite.checkpoint.dense import write_dense
from marius_lite.checkpoint.find import BEST, LATEST, named, place, pointed
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import STATE, BestCheckpoint, State, read_state
from marius_lite.errors import RunError
from marius_lite.storage import snapshots


def save(run: RunFolder, state: State, dense: dict[str, torch.Tensor], keep: int) -> Path:
    """Write the checkpoint named by ``state.cursor`` from ``live/``, whose chunk files must be complete.

    The link ``best`` then leads where ``state.best`` says. ``keep``: how many of the newest checkpoints stay. Where it raises
    RunError, earlier checkpoints are as they were.
    """
    final = run.checkpoints / state.cursor.name
    temporary = snapshots.unfinished(final)
    try:
        recover(run)
        files.make_folder(run.checkpoints)
        files.sync(run.path)  # the name of metrics.jsonl, whose length the state tells
        snapshots.begin(run.live, final)
        state = replace(state, dense=write_dense(temporary, dense), arrays=arrays_checksum(temporary))
        files.sync_tree(temporary)
        files.write_atomic(temporary / STATE, state.to_json())
        snapshots.publish(final)
        _point(run, LATEST, final.name)
        _point_best(run, state.best)
        prune(run, keep)
    except (OSError, RunError) as error:
        recover(run)
        raise (files.disk_error(error, temporary) if isinstance(error, OSError) else error) from error
    if run.published:
        run.published.try_to_publish()
    return final


def recover(run: RunFolder) -> None:
    """Bring back a checkpoint whose replacement was interrupted between two renames, and remove what killed saves left."""
    snapshots.recover(run.checkpoints)


def _point(run: RunFolder, pointer: str, name: str) -> None:
    """Make ``latest`` or ``best`` a link to a checkpoint. A folder that a copy made of the link is removed."""
    path = run.checkpoints / pointer
    if path.is_dir() and not path.is_symlink():
        snapshots.discard(path)
    files.point(path, name)


def _point_best(run: RunFolder, best: BestCheckpoint | None) -> None:
    """Let the link ``best`` lead where the run's state says. That may be an older checkpoint, after the run went back."""
    pointer = run.checkpoints / BEST
    if best and (run.checkpoints / best.checkpoint).exists():
        if not pointer.is_symlink() or pointer.readlink().name != best.checkpoint:
            _point(run, BEST, best.checkpoint)
    elif pointer.is_symlink():
        pointer.unlink()
        files.sync(run.checkpoints)
    elif pointer.is_dir():
        snapshots.discard(pointer)


def mark_best(run: RunFolder, name: str, keep: int) -> None:
    """Let the link ``best`` lead to a published checkpoint, and remove those that are no longer kept."""
    _point(run, BEST, name)
    prune(run, keep)


def go_back(run: RunFolder, checkpoint: Path) -> None:
    """Let the run continue from ``checkpoint``. Later checkpoints are no longer used, and stay until a new one is written."""
    _point(run, LATEST, checkpoint.name)
    _point_best(run, read_state(checkpoint).best)


def prune(run: RunFolder, keep: int) -> None:
    """Remove all but the newest ``keep`` checkpoints and the best one, and folders without a state.

    Checkpoints beyond the latest belong to a part of the run that was taken back, so they are removed too. One that is being read
    stays until the next time.
    """
    folders, latest = named(run), place(pointed(run, LATEST) or "") or ()
    whole = [path.name for path in folders if (path / STATE).exists() and (place(path.name) or ()) <= latest]
    kept = {*whole[-keep:], pointed(run, BEST)}
    for path in folders:
        if path.name not in kept:
            with files.alone(path) as unheld:
                if unheld:
                    snapshots.discard(path)


def restore_live(run: RunFolder, checkpoint: Path) -> None:
    """Rebuild ``live/`` from a checkpoint by hard links. What was there before is removed."""
    snapshots.restore(checkpoint, run.live)
