"""Snapshots of a live group of tables: folders that share its files by hard links.

Chunk files are never changed in place. A link therefore keeps a partition as it was, and a snapshot copies nothing. A snapshot is
made under a hidden name and renamed into place; what goes is renamed away before it is emptied. So a folder under its own name is
always whole.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from marius_lite import files

UNFINISHED, REPLACED = ".tmp", ".old.tmp"
DESCRIPTION = "zarr.json"


def unfinished(snapshot: Path) -> Path:
    """Where a snapshot stands while it is made."""
    return _hidden(snapshot, UNFINISHED)


def _hidden(snapshot: Path, suffix: str) -> Path:
    return snapshot.with_name(f".{snapshot.name}{suffix}")


def begin(live: Path, snapshot: Path) -> None:
    """Link all files of the group ``live``, which must be whole, to where the snapshot stands `unfinished`. Nothing is synced."""
    link_tree(live, unfinished(snapshot))


def link(source: Path, target: Path) -> None:
    """Hard link, or a copy where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EXDEV, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            raise
        shutil.copyfile(source, target)


def link_tree(source: Path, target: Path) -> None:
    """The same folders, every file linked; leftovers of a torn write (``*.tmp``) stay behind."""
    for folder, _, names in os.walk(source):
        there = target / Path(folder).relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        for name in sorted(names):
            if not name.endswith(".tmp"):
                link(Path(folder) / name, there / name)


def publish(snapshot: Path) -> None:
    """Rename what is whole and synced into its place, over a snapshot of the same name if there is one.

    `recover` closes the gap between the two renames.
    """
    old = _hidden(snapshot, REPLACED)
    if snapshot.exists():
        files.publish(snapshot, old)
    files.publish(unfinished(snapshot), snapshot)
    files.remove_tree(old)


def recover(folder: Path) -> None:
    """Bring back a snapshot in ``folder`` whose replacement was interrupted between two renames; remove what is unfinished."""
    for old in folder.glob(f".*{REPLACED}"):
        final = old.with_name(old.name[1:].removesuffix(REPLACED))
        if not final.exists():
            files.publish(old, final)
    for left in folder.glob(f".*{UNFINISHED}"):
        files.remove_tree(left)


def discard(snapshot: Path) -> None:
    """Remove a snapshot, under a hidden name from the first file on."""
    hidden = unfinished(snapshot)
    files.publish(snapshot, hidden)
    files.remove_tree(hidden)


def restore(snapshot: Path, live: Path) -> None:
    """Make the group ``live`` again from a snapshot, by links. What stood there goes; the snapshot's other files stay out."""
    temporary = unfinished(live)
    files.remove_tree(temporary)
    temporary.mkdir()
    for part in sorted(snapshot.iterdir()):
        if part.is_dir():
            link_tree(part, temporary / part.name)
        elif part.name == DESCRIPTION:
            link(part, temporary / part.name)
    files.remove_tree(live)
    files.publish(temporary, live)
