"""Publish a checkpoint: link, sync, record, rename, point.

    live/ chunk files (each a finished write) --hard link--> .NAME.tmp/ + dense.safetensors
    sync all of it -> state.json, synced -> rename to NAME -> `latest` points to NAME -> older ones are removed

A crash before the rename leaves a temporary folder that the next save removes; after it, a whole checkpoint. Nothing that a
published checkpoint holds is ever written again, because partition files are replaced, never changed.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file

from marius_lite import files
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import State
from marius_lite.errors import UserError

LATEST, BEST = "latest", "best"


def save(run: RunFolder, state: State, dense: dict[str, torch.Tensor], keep: int) -> Path:
    """Write the checkpoint named by ``state.cursor`` from ``live/``, whose chunk files must be complete."""
    final = run.checkpoints / state.cursor.name
    temporary = run.checkpoints / f".{final.name}.tmp"
    try:
        run.checkpoints.mkdir(exist_ok=True)
        files.remove_tree(temporary)
        files.link_tree(run.live, temporary)
        save_file({name: tensor.contiguous() for name, tensor in dense.items()}, temporary / "dense.safetensors")
        files.sync_tree(temporary)
        files.write_atomic(temporary / "state.json", state.to_json())
        _replace(temporary, final)
        files.point(run.checkpoints / LATEST, final.name)
    except OSError as error:
        files.remove_tree(temporary)
        raise files.disk_error(error, temporary) from error
    prune(run, keep)
    return final


def _replace(temporary: Path, final: Path) -> None:
    """Publish over a checkpoint of the same place in the run, left by a run that was taken back to before it."""
    if final.exists():
        old = final.with_name(f".{final.name}.old.tmp")
        files.remove_tree(old)
        files.publish(final, old)
        files.publish(temporary, final)
        files.remove_tree(old)
    else:
        files.publish(temporary, final)


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
    if best.is_symlink() and _place(best.readlink().name) > latest:
        best.unlink()
    kept = best.readlink().name if best.is_symlink() else None
    names = [path.name for path in published(run)]
    valid = [name for name in names if _place(name) <= latest]
    for name in names:
        if name not in valid[-keep:] and name != kept:
            files.remove_tree(run.checkpoints / name)


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

