"""Where a dataset is made: a folder beside its place, in which an interrupted command goes on, renamed into place at the end."""

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
    """Refuse an output that is there already; with ``overwrite``, one that is no dataset."""
    if not (output.exists() or output.is_symlink()):
        return
    if not overwrite:
        raise UserError(f"{output}: exists already: choose another --output, or replace it with --overwrite")
    is_dataset = output.is_dir() and (attributes(output) or {}).get("kind") == "dataset"
    is_empty = output.is_dir() and not any(output.iterdir())
    if output.is_symlink() or not (is_dataset or is_empty):
        raise UserError(
            f"{output}: exists and is no dataset, so --overwrite does not remove it: choose another --output"
        )


@contextmanager
def new_dataset(output: Path, command: str, overwrite: bool) -> Iterator[tuple[Path, Passes]]:
    """`.<name>.tmp` beside the output, and the passes that were finished there by a command of the same digest. At the end
    the folder, without what was needed on the way, becomes ``output``. Raises RunError for an operation on files that failed."""
    try:
        with _temporary_folder(output, command, overwrite) as (temporary, passes):
            yield temporary, passes
            files.remove_tree(temporary / WORK)
            files.sync_tree(temporary)
            _put_in_place(temporary, output)
    except OSError as error:
        raise files.disk_error(_with_errno(error), output) from error


@contextmanager
def _temporary_folder(output: Path, command: str, afresh: bool) -> Iterator[tuple[Path, Passes]]:
    """It is removed when the user's input is wrong, or no pass is finished; after another error, as for want of memory, the same
    command goes on in it, unless ``afresh``."""
    temporary = _beside(output, "tmp")
    temporary.mkdir(parents=True, exist_ok=True)
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
    """Rename into place, while an old dataset steps aside. The record of passes goes with it and goes last: where it is still
    there, `settle` has something to do."""
    old = _beside(output, "old")
    files.remove_tree(old)
    if output.exists():
        os.rename(output, old)
    files.publish(temporary, output)
    _clear_up(output)


def _clear_up(output: Path) -> None:
    """What a dataset in its place does without."""
    files.remove_tree(_beside(output, "old"))
    (output / LOCK).unlink(missing_ok=True)
    (output / PROGRESS).unlink(missing_ok=True)
    files.sync(output)


def settle(output: Path) -> None:
    """Put right what a command that was killed while it put ``output`` in place left: an old dataset that had stepped aside comes
    back where there is no new one; beside a new one it goes, as does what remembered the passes. Raises UserError where that
    command is still at it, and for what can be no folder."""
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
    """The Zarr groups that no pass owns; what a run that was killed left half written of them goes."""
    for torn in (*root.glob("*.tmp"), *root.glob("*.partial"), *root.glob("edges/*.partial")):
        torn.unlink()
    for group in (root, root / "edges"):
        if not (group / "zarr.json").exists():
            create_group(group)
            files.sync(group / "zarr.json")
            files.sync(group)


def checksums(root: Path, known: Files) -> dict[str, tuple[int, int]]:
    """(size, crc32c) of every data file, by path relative to the dataset; ``known``: of those that need not be read again."""
    found = {}
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if path.is_file() and inside.parts[0] not in (WORK, REPORT, LOCK, PROGRESS, "zarr.json"):
            found[inside.as_posix()] = known.get(path) or size_and_checksum(path)
    return found


def _with_errno(error: OSError) -> OSError:
    """Arrow's errors carry the number only in their text."""
    if error.errno is None and (found := re.search(r"errno (\d+)", str(error))):
        return OSError(int(found[1]), os.strerror(int(found[1])))
    return error
