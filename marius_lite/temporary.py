"""Files and folders that are there for a while: no other program has their names, and those of killed processes are removed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

from marius_lite import files


@contextmanager
def folder_beside(final: Path) -> Iterator[Path]:
    """Make an empty folder beside ``final``, and the parents that are missing. Renaming it to ``final`` is for the block to do.

    What is not renamed is removed at the end. Where a process was killed, the next call for the same ``final`` removes what it
    left.
    """
    with _beside(final, lambda place: place.mkdir(parents=True)) as place:
        yield place


@contextmanager
def whole(final: Path) -> Iterator[IO[bytes]]:
    """Give a file to write, as `files.whole` does, that several processes may write at the same time: the last one stays."""
    with (
        files.disk_errors(final),
        _beside(final, lambda place: place.touch(exist_ok=False)) as place,
        files.whole(final, place) as file,
    ):
        yield file


@contextmanager
def scratch(folder: Path, prefix: str) -> Iterator[Path]:
    """Make a folder in ``folder`` and remove it at the end. `remove_scratch` of another process leaves it alone meanwhile."""

    def made() -> Path:
        return Path(mkdtemp(prefix=prefix, dir=folder))

    with _held(made) as place:
        yield place


def remove_scratch(folder: Path, prefix: str) -> None:
    """Remove the scratch folders that killed processes left in ``folder``; those of others, who may not be asked, stay."""
    for left in folder.glob(f"{prefix}*"):
        with suppress(FileNotFoundError, PermissionError), files.alone(left) as unused:
            if unused:
                files.remove_tree(left)


@contextmanager
def _beside(final: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    remove_left(final)

    def made() -> Path:
        place = final.with_name(f".{final.name}.marius-{os.urandom(4).hex()}.tmp")
        make(place)
        return place

    with _held(made) as place:
        yield place


@contextmanager
def _held(make: Callable[[], Path]) -> Iterator[Path]:
    """Hold what ``make`` makes until the block ends, and remove it."""
    lock = None
    while lock is None:
        place = make()
        with suppress(FileNotFoundError):  # removed as a left one before it was held
            lock = files.hold(place)
    try:
        yield place
    finally:
        files.remove_tree(place)
        os.close(lock)


def remove_left(final: Path) -> None:
    """Remove what killed processes left beside ``final``. Where locks say nothing of their owners, everything stays."""
    named = re.compile(re.escape(f".{final.name}.marius-") + r"[0-9a-f]{8}\.tmp")
    with suppress(OSError):  # no folder, or one that is not ours: whoever writes there is told
        for name in filter(named.fullmatch, os.listdir(final.absolute().parent)):
            left = final.with_name(name)
            with suppress(OSError):
                if not left.is_symlink() and (left.is_file() or left.is_dir()):
                    with files.alone(left, without_locks=False) as unused:
                        if unused:
                            files.remove_tree(left)
