"""Publish a checkpoint: link, sync, record, rename, point.

    live/ chunk files (each a finished write) --hard link--> .NAME.tmp/ + dense.safetensors
    sync all of it -> state.json, synced -> rename to NAME -> `latest` points to NAME -> older ones are removed

A crash before the rename leaves a temporary folder that the next save removes; after it, a whole checkpoint. Nothing that a
published checkpoint holds is ever written again, because partition files are replaced, never changed. What goes is renamed
away before it is emptied, so that a folder under its own name is always whole.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from marius_lite import files
from marius_lite.checkpoint.dense import write_dense
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import Best, State
from marius_lite.errors import RunError, UserError

LATEST, BEST = "latest", "best"
UNFINISHED, REPLACED = ".tmp", ".old.tmp"


def save(run: RunFolder, state: State, dense: dict[str, torch.Tensor], keep: int) -> Path:
    """Write the checkpoint named by ``state.cursor`` from ``live/``, whose chunk files must be complete.

    ``best`` then points where ``state.best`` says. Raises RunError, with earlier checkpoints as they were.
    """
    final = run.checkpoints / state.cursor.name
    temporary = _hidden(final, UNFINISHED)
    try:
        recover(run)
        files.make_folder(run.checkpoints)
        files.sync(run.path)  # the name of metrics.jsonl, whose length the state tells
        files.link_tree(run.live, temporary)
        state = replace(state, dense=write_dense(temporary, dense))
        files.sync_tree(temporary)
        files.write_atomic(temporary / "state.json", state.to_json())
        _publish(temporary, final)
        files.point(run.checkpoints / LATEST, final.name)
        _point_best(run, state.best)
        prune(run, keep)
    except (OSError, RunError) as error:
        recover(run)
        raise (files.disk_error(error, temporary) if isinstance(error, OSError) else error) from error
    return final


def _hidden(checkpoint: Path, suffix: str) -> Path:
    return checkpoint.with_name(f".{checkpoint.name}{suffix}")


def _publish(temporary: Path, final: Path) -> None:
    """Rename into place, over a checkpoint of the same place in the run if there is one: `recover` closes the gap."""
    old = _hidden(final, REPLACED)
    if final.exists():
        files.publish(final, old)
    files.publish(temporary, final)
    files.remove_tree(old)


def recover(run: RunFolder) -> None:
    """Bring back a checkpoint whose replacement was interrupted between two renames; remove what killed saves left."""
    for old in run.checkpoints.glob(f".*{REPLACED}"):
        final = old.with_name(old.name[1:].removesuffix(REPLACED))
        if not final.exists():
            files.publish(old, final)
    for left in run.checkpoints.glob(f".*{UNFINISHED}"):
        files.remove_tree(left)


def _discard(checkpoint: Path) -> None:
    hidden = _hidden(checkpoint, UNFINISHED)
    files.publish(checkpoint, hidden)
    files.remove_tree(hidden)


def _point_best(run: RunFolder, best: Best | None) -> None:
    """Make the link say what the run's state says, which may be older after the run was taken back."""
    pointer = run.checkpoints / BEST
    if best and (run.checkpoints / best.checkpoint).exists():
        if not pointer.is_symlink() or pointer.readlink().name != best.checkpoint:
            files.point(pointer, best.checkpoint)
    elif pointer.is_symlink():
        pointer.unlink()
        files.sync(run.checkpoints)


def mark_best(run: RunFolder, name: str, keep: int) -> None:
    """Point ``best`` to a published checkpoint."""
    files.point(run.checkpoints / BEST, name)
    prune(run, keep)


def prune(run: RunFolder, keep: int) -> None:
    """Remove all but the newest ``keep`` checkpoints and the best one.

    Those beyond the latest belong to a part of the run that was taken back: they go too.
    """
    latest = _place((run.checkpoints / LATEST).readlink().name)
    best = run.checkpoints / BEST
    kept = best.readlink().name if best.is_symlink() else None
    names = [path.name for path in published(run)]
    valid = [name for name in names if _place(name) <= latest]
    for name in names:
        if name not in valid[-keep:] and name != kept:
            _discard(run.checkpoints / name)


def _place(name: str) -> list[int]:
    return [int(part) for part in name.split(".")]


def published(run: RunFolder) -> list[Path]:
    """All complete checkpoints, by their place in the run."""
    if not run.checkpoints.exists():
        return []
    folders = [path for path in run.checkpoints.iterdir()
               if not path.is_symlink() and not path.name.startswith(".") and (path / "state.json").exists()]
    return sorted(folders, key=lambda path: _place(path.name))


def find(run: RunFolder, name: str | None) -> Path | None:
    """The checkpoint ``name`` (its folder's name, ``latest`` or ``best``); without a name the latest, None if there is none.

    Raises UserError for a name that is not there.
    """
    pointer = run.checkpoints / (name or LATEST)
    if (pointer / "state.json").exists():
        return pointer.resolve()
    complete = published(run)
    if name is None:
        return complete[-1] if complete else None
    known = ", ".join(path.name for path in complete) or "none"
    raise UserError(f"{run.path}: no checkpoint {name}: there are {known}")


def restore_live(run: RunFolder, checkpoint: Path) -> None:
    """Rebuild ``live/`` from a checkpoint by hard links; what stood there is discarded."""
    temporary = run.path / ".live.tmp"
    files.remove_tree(temporary)
    temporary.mkdir()
    for part in sorted(checkpoint.iterdir()):
        if part.is_dir():
            files.link_tree(part, temporary / part.name)
        elif part.name == "zarr.json":
            files.link(part, temporary / part.name)
    files.remove_tree(run.live)
    files.publish(temporary, run.live)

