"""Snapshots of a live group of tables: folders that share its files by hard links.

Chunk files are never changed in place. So a link keeps a partition as it was, and a snapshot copies nothing. A snapshot is made
under a hidden name and renamed into place; one that is removed is renamed to a hidden name first. So a folder that is not hidden
is always whole.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from marius_lite import files
from marius_lite.storage.metadata import DOCUMENT

UNFINISHED, REPLACED = ".tmp", ".old.tmp"


def unfinished(snapshot: Path) -> Path:
    """The hidden folder of a snapshot while it is made."""
    return _hidden(snapshot, UNFINISHED)


def _hidden(snapshot: Path, suffix: str) -> Path:
    return snapshot.with_name(f".{snapshot.name}{suffix}")


def begin(live: Path, snapshot: Path) -> None:
    """Link all files of the group ``live``, which must be whole, into the `unfinished` snapshot. Nothing is synced."""
    link_tree(live, unfinished(snapshot))


def link(source: Path, target: Path) -> None:
    """Make a hard link, or a copy where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EXDEV, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            raise
        shutil.copyfile(source, target)


def link_tree(source: Path, target: Path) -> None:
    """Make the same folders at ``target``, and link every file but those of interrupted writes (``*.tmp``)."""
    for folder, _, names in os.walk(source):
        copy = target / Path(folder).relative_to(source)
        copy.mkdir(parents=True, exist_ok=True)
        for name in sorted(names):
            if not name.endswith(".tmp"):
                link(Path(folder) / name, copy / name)


def share_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Link files of the folder ``source``, by their paths inside, to the same places of another, and make their folders.

    Files that are shared are never changed in place.
    """
    folders = set()
    for name in names:
        file = target / name
        if file.parent not in folders:
            file.parent.mkdir(parents=True, exist_ok=True)
            folders.add(file.parent)
        link(source / name, file)


def publish(snapshot: Path) -> None:
    """Rename the unfinished snapshot, which is whole and synced, to its own name. It replaces one of the same name.

    If a crash comes between the two renames, `recover` brings the old one back.
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
    """Remove a snapshot: it is renamed to a hidden name before the first file goes."""
    hidden = unfinished(snapshot)
    files.publish(snapshot, hidden)
    files.remove_tree(hidden)


def restore(snapshot: Path, live: Path) -> None:
    """Replace the group ``live`` by links to a snapshot's tables. Other files of the snapshot are left out."""
    temporary = unfinished(live)
    files.remove_tree(temporary)
    temporary.mkdir()
    for part in sorted(snapshot.iterdir()):
        if part.is_dir():
            link_tree(part, temporary / part.name)
        elif part.name == DOCUMENT:
            link(part, temporary / part.name)
    files.remove_tree(live)
    files.publish(temporary, live)
