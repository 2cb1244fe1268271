"""Work with files so that nothing is lost: sync, rename into place, lock, check for room; and tell failures in one line."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from marius_lite.errors import DiskFull, MariusError, RunError, UserError
from marius_lite.printable import printable
from marius_lite.sizes import format_bytes

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_UNPACKED = 1000
"""The most bytes that a byte of a compressed file becomes."""
MOST_REASON = 200  # characters of what a library says
IN_THE_WAY = {
    errno.EEXIST: "move away what is there, or choose another name",
    errno.ENOTDIR: "a file is where a folder should be, choose another place",
    errno.EISDIR: "a folder is where a file should be, choose another name",
}
"""What to do about errors of a place that is taken."""
ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
"""The errors of a file that is not there or may not be read. Any other OSError is a disk that fails."""


@contextmanager
def disk_errors(path: Path | str) -> Iterator[None]:
    """Turn each OSError of the block into a RunError that names ``path``. Not every OSError names the file."""
    try:
        yield
    except OSError as error:
        raise disk_error(error, path) from error


def sync(path: Path) -> None:
    """Sync one file or folder to the disk. Raises OSError, which names it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def sync_tree(root: Path, but: Callable[[Path], bool] = lambda _: False) -> None:
    """Sync every file and folder under ``root`` to the disk, files first, ``root`` last. ``but``: files that are on the disk
    already."""
    for folder, _, names in os.walk(root, topdown=False):
        for name in sorted(names):
            if not but(path := Path(folder) / name):
                sync(path)
        sync(Path(folder))


def read(path: Path) -> bytes:
    """Read a small file. Raises one of ABSENT, or RunError where the disk fails: the file is then not taken for damaged."""
    try:
        return path.read_bytes()
    except ABSENT:
        raise
    except OSError as error:
        raise disk_error(error, path) from error


def parse_json(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError for text that is not JSON. For thousands of brackets Python would raise another error."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("too many nested brackets") from error


def read_json(path: Path) -> Any:
    """Read a JSON file. Raises what `read` and `parse_json` raise."""
    return parse_json(read(path))


def read_numbers(path: Path, dtype: npt.DTypeLike, most: int | None = None, offset: int = 0) -> npt.NDArray[Any]:
    """Read the numbers in a raw file from byte ``offset`` on, all or the first ``most``. Raises RunError where the disk fails.

    numpy.fromfile is not used, because it takes a read that fails for the end of the file.
    """
    import numpy as np

    with disk_errors(path), open(path, "rb", buffering=0) as file:
        file.seek(offset)
        there = max(0, os.fstat(file.fileno()).st_size - offset) // np.dtype(dtype).itemsize
        numbers = np.empty(there if most is None else min(there, most), dtype)
        room, done = numbers.view(np.uint8), 0
        while done < len(room):
            got = file.readinto(room[done:].data)
            if not got:
                raise RunError(f"{path}: ends before what it should hold")
            done += got
        return numbers


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents, so that they survive a power cut."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


@contextmanager
def whole(path: Path, beside: Path | None = None) -> Iterator[IO[bytes]]:
    """Give a file to write. Once the block has ended without an error it appears as ``path``, in place of what was there.

    Readers see the old bytes or the new, never a mixture. Raises RunError where the disk fails. ``beside``: its name until then,
    ``path`` and .tmp by default. A killed program may leave it. `temporary.whole` is for files in folders of others.
    """
    beside = beside or path.with_name(f"{path.name}.tmp")
    if not os.path.lexists(path.parent):
        raise RunError(f"{path}: there is no folder {path.parent}: make it, or name another file")
    if path.is_dir():
        raise RunError(f"{path}: {IN_THE_WAY[errno.EISDIR]}")
    with disk_errors(path):
        try:
            with open(beside, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException as error:
            beside.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.filename == str(beside):
                error.filename = str(path)  # nobody asked for the file beside it
            raise
    sync(path.parent)


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file as `whole` does."""
    with whole(path) as file:
        file.write(data)


def publish(temporary: Path, final: Path) -> None:
    """Rename a finished and synced folder to its final name."""
    os.rename(temporary, final)
    sync(final.parent)


def point(pointer: Path, name: str) -> None:
    """Make the symbolic link ``pointer`` lead to ``name`` (relative). It leads to the old or to the new name at any time."""
    beside = pointer.with_name(f".{pointer.name}.tmp")
    beside.unlink(missing_ok=True)
    try:
        beside.symlink_to(name)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(pointer)) from error  # Python's error names where the link leads
    os.replace(beside, pointer)
    sync(pointer.parent)


def truncate(path: Path, length: int) -> None:
    """Cut a file to ``length`` bytes and sync it."""
    with open(path, "r+b") as file:
        file.truncate(length)
        file.flush()
        os.fsync(file.fileno())


def remove_tree(path: Path) -> None:
    """Remove a file or folder if it exists. Raises OSError with the whole path; shutil.rmtree gives only the last part of it."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        try:
            shutil.rmtree(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error


def free_bytes(path: Path) -> int:
    """Return the bytes that an ordinary user may still write under ``path``, or under its nearest existing parent."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def require_space(path: Path, needed: int, purpose: str) -> None:
    """Raise UserError unless ``needed`` bytes are free where ``path`` will be."""
    free = free_bytes(path.absolute())
    if needed > free:
        raise UserError(
            f"{path}: {purpose} needs {format_bytes(needed)}, {format_bytes(free)} are free: "
            "free some space or choose another folder"
        )


def require_folder_of(file: Path, option: str) -> None:
    """Raise UserError where a file named by ``option`` has no folder to be in. Long work then does not come to nothing."""
    if not file.absolute().parent.is_dir():
        raise UserError(f"{option} {file}: there is no folder {file.absolute().parent}: make it, or name another file")


def disk_error(error: OSError, path: Path | str) -> RunError:
    """Return an error of one line for a failed file operation. It says what to do where the disk is full or the place taken."""
    where = error.filename or path
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{where}: the disk is full: make room, then {DiskFull.AGAIN}")
    advice = f": {IN_THE_WAY[error.errno]}" if error.errno in IN_THE_WAY else ""
    return RunError(f"{where}: {error.strerror or error}{advice}")


@contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Turn what a library raises about the file or folder ``path`` into an error of one line. Only reading belongs in the block.

    Raises UserError for a file that is not there or not what it should be, RunError for a disk that fails. Libraries raise many
    errors for damage (struct.error, KeyError, UnicodeDecodeError, ...), so every error counts as damage.
    """
    try:
        yield
    except MariusError:
        raise
    except MemoryError as error:
        if not _is_absurd(error, path):
            raise
        raise UserError(
            f"{path}: damaged (a number in it asks for more memory than such a file can fill: {error}): get it again"
        ) from error
    except (PermissionError, FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise UserError(f"{path}: {error.strerror or error}: name a file that can be read") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # EINVAL: damage led before the file's start
            raise RunError(f"{path}: {error.strerror}") from error
        if isinstance(behind := error.__context__, OSError) and behind.errno == errno.EIO:  # zipfile then says: not an archive
            raise RunError(f"{path}: {behind.strerror}") from error
        said = " ".join(str(error).split()) or type(error).__name__
        reason = said if isinstance(error, (ValueError, OSError, EOFError)) else f"{type(error).__name__}: {said}"
        raise UserError(f"{path}: damaged or cut short ({reason[:MOST_REASON]}): get it again") from error


def _is_absurd(error: MemoryError, path: Path | str) -> bool:
    """Return whether Arrow asked at once for more memory than such a file can fill. That is damage, no lack of memory."""
    asked = max((int(digits) for digits in re.findall(r"\d{1,19}", str(error))), default=0)
    size = os.path.getsize(path) if os.path.isfile(path) else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return asked > (1 << 30) + MOST_UNPACKED * size


def check_encodable(path: Path | str) -> None:
    """Raise UserError for an input whose name libraries cannot take."""
    try:
        unknown = b"\0" in str(path).encode()
    except UnicodeEncodeError:
        unknown = True
    if unknown:
        raise UserError(f"{printable(str(path))}: the name is not UTF-8: rename it")


def check_name(path: Path | str, option: str) -> None:
    """Raise UserError for a new folder whose name libraries cannot take, or a terminal would obey. ``option`` gave it."""
    if printable(str(path)) != str(path):
        raise UserError(
            f"{option} {printable(str(path))}: the name has characters that are not UTF-8, or not to be printed: choose another"
        )


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Lock the file ``path`` until the block ends. Raises UserError where another process has the lock.

    The kernel frees it when the process ends.
    """
    with open(path, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UserError(
                f"{path.parent}: another process works on this folder (its lock is held): wait for it to end or stop it"
            ) from error
        yield


def hold(path: Path) -> int:
    """Keep a file or folder from being removed by those who ask `alone`. Returns a descriptor; it is free once this is closed.

    Raises FileNotFoundError for one that was removed or replaced meanwhile.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with _where_locked():
            fcntl.flock(descriptor, fcntl.LOCK_SH)  # waits for one who is removing it
        if os.fstat(descriptor).st_ino != path.stat().st_ino:
            raise FileNotFoundError(errno.ENOENT, "another was put in its place", str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def alone(path: Path, without_locks: bool = True) -> Iterator[bool]:
    """Give whether nobody keeps a file or folder by `hold`. Until the block ends nobody can begin to.

    ``without_locks``: the answer where a file system has no locks.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        unheld = without_locks
        try:
            with _where_locked():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                unheld = True
        except BlockingIOError:
            unheld = False
        yield unheld
    finally:
        os.close(descriptor)


@contextmanager
def _where_locked() -> Iterator[None]:
    """Ignore the errors of file systems, such as some on networks, that have no locks of folders."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL, errno.ENOSYS):
            raise


def most_open() -> int:
    """Raise the limit of open files as far as possible, and return it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 20
