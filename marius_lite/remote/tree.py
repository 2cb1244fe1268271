"""What a folder in object storage holds: a manifest that names its files, and the pointer that names the manifest.

Both were written by this program and may have been changed by anyone, so nothing in them is trusted: names stay inside the
folder, sizes are bounded, and all that is fetched is compared with its SHA-256.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from marius_lite.errors import UserError
from marius_lite.files import parse_json
from marius_lite.printable import printable
from marius_lite.remote.failures import Damaged
from marius_lite.sealed import checksum_of

FORMAT = 1
WRITER = "[0-9a-f]{16}"
OBJECT = re.compile(rf"objects/({WRITER})/(0|[1-9][0-9]{{0,15}})")
MANIFEST = re.compile(rf"manifests/({WRITER})/(0|[1-9][0-9]{{0,15}})")
MOST_FILES, MOST_NAME, MOST_SIZE = 4_000_000, 512, 1 << 50
MOST_POINTER, MOST_MANIFEST = 1 << 16, 1 << 30
"""Bytes of the largest pointer and manifest that are read."""


@dataclass(frozen=True, slots=True)
class Part:
    """An object with a stretch of a file: its name, its bytes, and their SHA-256 in hexadecimal digits."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Tree:
    """The files of a folder, by relative name, as the parts that follow one another; and its links to names beside them."""

    files: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def objects(self) -> set[str]:
        """The names of all objects that the files are made of."""
        return {part.name for parts in self.files.values() for part in parts}

    def to_json(self) -> bytes:
        files = {name: [[part.name, part.size, part.sha256] for part in parts] for name, parts in self.files.items()}
        return json.dumps({"format": FORMAT, "files": files, "links": dict(self.links)}, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Pointer:
    """What says which manifest is the folder's: its ``name``, ``size`` and ``sha256``. ``writer``: a random name of the process
    that may write the next one. ``generation``: how often the pointer was put."""

    writer: str
    generation: int
    name: str
    size: int
    sha256: str

    def to_json(self) -> bytes:
        tree = {"format": FORMAT, **asdict(self)}
        return json.dumps({**tree, "checksum": checksum_of(tree)}).encode()


def new_writer() -> str:
    """Return a name that no other writer has."""
    return secrets.token_hex(8)


def parse_pointer(data: bytes, where: str) -> Pointer:
    """Return a pointer. Raises Damaged for one that was changed on its way, UserError for one of a newer format."""
    try:
        tree = parse_json(data)
        if tree.pop("checksum", None) != checksum_of(tree):
            raise Damaged("its checksum is wrong or missing")
        if tree.pop("format") != FORMAT:
            raise UserError(f"{where}: was written by a newer version: use that one")
        pointer = Pointer(**tree)
        sound = MANIFEST.fullmatch(pointer.name) and re.fullmatch(WRITER, pointer.writer) and _is_size(pointer.generation)
        if not sound or not _is_size(pointer.size, MOST_MANIFEST) or not isinstance(pointer.sha256, str):
            raise UserError(f"{where}: names no manifest of this program: it was changed, so nothing is read from there")
        return pointer
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise Damaged(f"no pointer ({type(error).__name__})") from None


def parse_tree(data: bytes, where: str) -> Tree:
    """Return the manifest that ``data`` is, whose checksum is right. Raises UserError for names that would leave the folder, and
    for other things that this program does not write."""
    try:
        tree = parse_json(data)
        files, links = tree["files"], tree["links"]
        if len(files) + len(links) > MOST_FILES:
            raise ValueError(f"{len(files) + len(links):,} files")
        for name in [*files, *links]:
            require_inside(name)
        for name, target in links.items():
            require_inside(target)
            if "/" in target or name in files:
                raise ValueError(f"the link {printable(name)[:MOST_NAME]} to {printable(target)[:MOST_NAME]}")
        found = Tree({name: tuple(_part(part) for part in parts) for name, parts in files.items()}, links)
        if sum(part.size for parts in found.files.values() for part in parts) > MOST_SIZE:
            raise ValueError("more bytes than any disk has")
        return found
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{where}: refused, this program writes no such manifest: {error}") from None


def require_inside(name: object) -> None:
    """Raise ValueError for a name that is not one of a file below a folder."""
    sound = isinstance(name, str) and 0 < len(name) <= MOST_NAME and printable(name) == name and "\\" not in name
    if not sound or any(part in ("", ".", "..") for part in str(name).split("/")):
        raise ValueError(f"the name {printable(str(name))[:MOST_NAME]!r}")


def _part(found: Any) -> Part:
    name, size, sha256 = found
    if not isinstance(name, str) or not OBJECT.fullmatch(name):
        raise ValueError(f"the object {printable(str(name))[:MOST_NAME]!r}")
    if not _is_size(size) or not isinstance(sha256, str):
        raise ValueError(f"the object {name} of {size!r} bytes")
    return Part(name, size, sha256)


def _is_size(number: object, most: int = MOST_SIZE) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= most
