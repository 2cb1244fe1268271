"""Find the checkpoints of a run, by their names, and keep one from being removed while it is read."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path

from marius_lite import files
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import STATE, read_copy, read_state
from marius_lite.errors import UserError
from marius_lite.log import log

LATEST, BEST = "latest", "best"
NUMBER = "(0|[1-9][0-9]{0,17})"
CURSOR = re.compile(rf"{NUMBER}\.{NUMBER}\.{NUMBER}")


def place(name: str) -> tuple[int, ...] | None:
    """Return a checkpoint's place in its run, (epoch, step, batch), from its name. None for other names."""
    found = CURSOR.fullmatch(name)
    return tuple(map(int, found.groups())) if found else None


def named(run: RunFolder) -> list[Path]:
    """Return all folders with the name of a checkpoint, in order of place. Others, such as a copy 2.0.0.bak, are not ours."""
    if not run.checkpoints.exists():
        return []
    folders = [path for path in run.checkpoints.iterdir() if place(path.name) and not path.is_symlink() and path.is_dir()]
    return sorted(folders, key=lambda path: place(path.name) or ())


def published(run: RunFolder) -> list[Path]:
    """Return all checkpoints that have a state, in order of place."""
    return [path for path in named(run) if (path / STATE).exists()]


def pointed(run: RunFolder, pointer: str) -> str | None:
    """Return the name of the checkpoint to which the link ``latest`` or ``best`` leads, whether or not it exists.

    None where there is no link. Where a copy of the run has made a folder of the link, the state in the folder tells the name.
    Raises UserError where that state is damaged.
    """
    path = run.checkpoints / pointer
    try:
        return Path(os.readlink(path)).name
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):  # it is no link, or is not there
            raise files.disk_error(error, path) from error
    return read_copy(path).cursor.name if (path / STATE).exists() else None


def find(run: RunFolder, name: str | None) -> Path | None:
    """Return the checkpoint ``name``: its folder's name, ``latest`` or ``best``. Without a name it is the latest, or None.

    Where there are no links, the latest is the last one by place, and the best is the one that its state names. Raises UserError
    for a checkpoint that does not exist or has no state. No other is taken in its place.
    """
    while True:
        wanted = _meant(run, name)
        if wanted is None and name is None:
            return None
        if wanted is not None and (run.checkpoints / wanted / STATE).exists():
            return run.checkpoints.resolve() / wanted
        if wanted == _meant(run, name):  # else the run has just made another the latest
            raise _missing(run, name, wanted)


def _meant(run: RunFolder, name: str | None) -> str | None:
    """Return the folder's name that ``name`` stands for. None where there is none."""
    if name not in (None, LATEST, BEST):
        return name if place(str(name)) else None
    folders = named(run)
    if not folders:
        return None
    latest = pointed(run, LATEST) or folders[-1].name
    if name != BEST:
        return latest
    if (run.checkpoints / BEST).is_symlink() or not (run.checkpoints / latest / STATE).exists():
        return pointed(run, BEST)
    best = read_state(run.checkpoints / latest).best
    return pointed(run, BEST) or (best.checkpoint if best else None)


def _missing(run: RunFolder, name: str | None, wanted: str | None) -> UserError:
    there = ", ".join(path.name for path in published(run)) or "none"
    folder = run.checkpoints / (wanted or "")
    if wanted and folder.is_dir():
        return UserError(
            f"{folder}: no whole checkpoint, it has no {STATE}: copy it again, or choose another with --checkpoint: "
            f"there are {there}"
        )
    what = f"no checkpoint {wanted}, which `{name or LATEST}` names" if wanted not in (None, name) else f"no checkpoint {name}"
    return UserError(f"{run.path}: {what}: there are {there}")


def find_to_read(run: RunFolder, name: str | None) -> Path | None:
    """Return a checkpoint as `find` does, but without a name the best, if evaluations chose one. Later ones may overfit.

    Runs that do not keep the best may have removed it; then it is the latest.
    """
    if name is None and (run.checkpoints / BEST).is_symlink():
        return find(run, BEST)
    if name is None and not (run.checkpoints / LATEST).is_symlink():  # a copy without links: the state tells the best
        best = _meant(run, BEST)
        found = find(run, BEST if best is not None and (run.checkpoints / best).is_dir() else None)
        if found and not (run.checkpoints / BEST).exists() and found != (latest := find(run, None)):
            log.warning(
                "%s: this copy lacks the links `latest` and `best`: taking %s, the best known without them; "
                "%s may be better: choose with --checkpoint",
                run.checkpoints,
                found.name,
                latest.name if latest else "another",
            )
        return found
    return find(run, name)


def hold(run: RunFolder, name: str | None) -> tuple[Path, int] | None:
    """Return a checkpoint as `find_to_read` does, and an open descriptor. Until that is closed, the checkpoint is not removed.

    The kernel closes it when the process ends.
    """
    while (found := find_to_read(run, name)) is not None:
        with suppress(FileNotFoundError):  # it was removed at this moment: look again
            return found, files.hold(found)
    return None
