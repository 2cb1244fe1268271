"""Files inside zip and tar archives, which are read in place: nothing is unpacked onto the disk."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from marius_lite.errors import UserError

TAR = re.compile(r"\.(tar(\.\w+)?|tgz)$")
TYPED = (".npz", ".pt", ".pth")
JUNK = "__MACOSX/"
SHOWN = 8


def is_archive(path: Path, magic: str) -> bool:
    """Whether a file holds other files. An .npz, or what torch.save writes, holds arrays."""
    return (magic == "zip" and path.suffix not in TYPED) or (magic != "zip" and TAR.search(path.name) is not None)


def choose(path: Path, names: list[str], wanted: str | None) -> list[str]:
    """Return the members that ``wanted`` names; it may be a pattern. None: the only member. Raises UserError where there is none,
    or a choice."""
    chosen = (
        names
        if wanted is None
        else [name for name in names if name == wanted] or sorted(name for name in names if fnmatchcase(name, wanted))
    )
    if not chosen or (wanted is None and len(chosen) > 1):
        shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        asked = "" if wanted is None else f":{wanted}"
        raise UserError(
            f"{path}{asked}: which file? the archive has {shown or 'none'}: name one as {path.name}:MEMBER, or "
            f"several by a pattern such as '{path.name}:*.txt'"
        )
    return chosen


def member_names(path: Path, magic: str, unpacked: Any) -> list[str]:
    """Return the names of the files in an archive. ``unpacked``: the decompressed stream of a tar."""
    if magic == "zip":
        with ZipFile(path) as archive:
            return [one.filename for one in archive.infolist() if not one.is_dir() and not one.filename.startswith(JUNK)]
    with _tar(unpacked) as archive:
        return [_plain(one.name) for one in archive if one.isfile()]


def open_member(path: Path, magic: str, unpacked: Any, name: str, stack: ExitStack) -> tuple[IO[bytes], int]:
    """Open a member. Returns a stream with ``peek``, and its number of bytes. ``stack`` closes what was opened."""
    if magic == "zip":
        archive = stack.enter_context(ZipFile(path))
        info = archive.getinfo(name)
        try:
            return stack.enter_context(archive.open(info)), info.file_size
        except (NotImplementedError, RuntimeError) as error:  # an unknown compression, or a password
            raise UserError(f"{path}:{name}: cannot be unpacked ({error}): unpack it and name the file") from error
    tar = stack.enter_context(_tar(unpacked))
    member = next(one for one in tar if one.isfile() and _plain(one.name) == name)
    stream = tar.extractfile(member)
    assert stream is not None, "it is a file"
    return stream, member.size


@contextmanager
def _tar(unpacked: Any) -> Iterator[tarfile.TarFile]:
    with tarfile.open(fileobj=unpacked, mode="r|", bufsize=1 << 20) as archive:
        yield archive


def _plain(name: str) -> str:
    return name.removeprefix("./")
