"""Where a dataset is made: in a folder beside the output, which becomes the output at the end. An interrupted command goes on in
it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from marius_lite import files
from marius_lite.errors import MemoryWanted, UserError
from marius_lite.graph.manifest import attributes
from marius_lite.graph.report import REPORT
from marius_lite.preprocess.disk.passes import PROGRESS, Files, Passes, is_finished, size_and_checksum
from marius_lite.storage.metadata import create_group

WORK, LOCK = "work", "lock"


def check_output(output: Path, overwrite: bool) -> None:
    """Refuse an output that exists already; with ``overwrite``, only one that is no dataset."""
    if not (output.exists() or output.is_symlink()):
        return
    if not overwrite:
        raise UserError(f"{output}: exists already: choose another --output, or replace it with --overwrite")
    is_dataset = output.is_dir() and (attributes(output) or {}).get("kind") == "dataset"
    is_empty = output.is_dir() and not any(output.iterdir())
    if output.is_symlink() or not (is_dataset or is_empty):
        raise UserError(f"{output}: exists and is no dataset, so --overwrite does not remove it: choose another --output")


@contextmanager
def new_dataset(output: Path, command: str, overwrite: bool) -> Iterator[tuple[Path, Passes]]:
    """Return folder `.<name>.tmp` beside the output, and the passes that the same command has finished there. ``command``: its
    digest. At the end the folder becomes ``output``, without its working files. Raises RunError where an operation on files
    fails."""
    try:
        with _temporary_folder(output, command, overwrite) as (temporary, passes):
            yield temporary, passes
            files.remove_tree(temporary / WORK)
            files.sync_tree(temporary, but=passes.files.__contains__)  # each pass has synced its own
            _put_in_place(temporary, output)
    except OSError as error:
        raise files.disk_error(with_errno(error), output) from error


@contextmanager
def _temporary_folder(output: Path, command: str, afresh: bool) -> Iterator[tuple[Path, Passes]]:
    """Return the folder and its passes. It is removed where the input is wrong, or no pass is finished. After another error, such
    as too little memory, the same command goes on in it, unless ``afresh``."""
    temporary = _beside(output, "tmp")
    files.make_folder(temporary.parent)
    temporary.mkdir(exist_ok=True)
    with files.lock(temporary / LOCK):
        if afresh:
            files.remove_tree(temporary / PROGRESS)
        passes = Passes(temporary, command, keep=(LOCK,))
        try:
            yield temporary, passes
        except BaseException as error:
            wrong = isinstance(error, UserError) and not isinstance(error, MemoryWanted)
            if wrong or not passes.any:
                files.remove_tree(temporary)
            raise


def _put_in_place(temporary: Path, output: Path) -> None:
    """Move an old dataset aside and rename the new one into place. The record of passes comes with the folder and is removed
    last: where it still exists, `recover_output` has work to do."""
    old = _beside(output, "old")
    files.remove_tree(old)
    if output.exists():
        os.rename(output, old)
    files.publish(temporary, output)
    _clear_up(output)


def _clear_up(output: Path) -> None:
    """Remove what a finished dataset does not need: the old dataset beside it, the lock, the record of passes."""
    files.remove_tree(_beside(output, "old"))
    (output / LOCK).unlink(missing_ok=True)
    (output / PROGRESS).unlink(missing_ok=True)
    files.sync(output)


def recover_output(output: Path) -> None:
    """Finish what a command left that was killed while it put ``output`` in place. Where there is no new dataset, the old one is
    moved back. Where there is a new one, the old one and the record of passes are removed. Raises UserError where that command
    is still running, and for a name that can be no folder's."""
    if not output.name:
        raise UserError(f"{output}: cannot be an output folder: name a new one")
    old, temporary = _beside(output, "old"), _beside(output, "tmp")
    if temporary.is_dir() and old.is_dir() and not output.exists():
        with files.lock(temporary / LOCK):
            files.publish(old, output)
    elif is_finished(output / PROGRESS):
        with files.lock(output / LOCK):
            _clear_up(output)


def _beside(output: Path, ending: str) -> Path:
    return output.with_name(f".{output.name}.{ending}")


def make_groups(root: Path) -> None:
    """Make the Zarr groups that belong to no pass. Half-written files of a killed command are removed."""
    for partial in (*root.glob("*.tmp"), *root.glob("*.partial"), *root.glob("edges/*.tmp"), *root.glob("edges/*.partial")):
        partial.unlink()
    for group in (root, root / "edges"):
        if not (group / "zarr.json").exists():
            create_group(group)
            files.sync(group / "zarr.json")
            files.sync(group)


def checksums(root: Path, known: Files) -> dict[str, tuple[int, int]]:
    """Return (size, crc32c) of every data file, by path relative to the dataset. ``known``: files that need not be read for
    it."""
    sums = {}
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if path.is_file() and inside.parts[0] not in (WORK, REPORT, LOCK, PROGRESS, "zarr.json"):
            sums[inside.as_posix()] = known.get(path) or size_and_checksum(path)
    return sums


def with_errno(error: OSError) -> OSError:
    """Return the error with its number, which Arrow's errors have only in their text."""
    if error.errno is None and (number := re.search(r"errno (\d+)", str(error))):
        return OSError(int(number[1]), os.strerror(int(number[1])))
    return error
