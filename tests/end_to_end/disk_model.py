"""A file system that may forget whatever was not synced: the calls of a trace, replayed.

Of each file there is what it holds, what it held at its last fsync, and the changes between; of each folder likewise its names.
After a power cut each change may or may not be found, whatever became of the others: only a name that all of these agree on is
*sure*, each other one is *possible*. `leave` makes such a state.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from faults import Call

BLOCK = 4096


@dataclass
class File:
    data: bytearray = field(default_factory=bytearray)
    kept: bytes = b""
    since: list[tuple[int, bytes] | int] = field(default_factory=list)  # (offset, written), or the length it was cut or grown to

    def write(self, offset: int, data: bytes) -> None:
        _put(self.data, offset, data)
        self.since.append((offset, data))

    def resize(self, length: int) -> None:
        _resize(self.data, length)
        self.since.append(length)

    def sync(self) -> None:
        self.kept, self.since = bytes(self.data), []

    @property
    def synced(self) -> bool:
        return not self.since

    def left(self, chance: Random, share: float) -> bytes:
        """What a power cut may leave: blocks of about this ``share`` of the changes; zeros, or nothing, where others were."""
        found, length, lengths = bytearray(self.kept), len(self.kept), {len(self.kept)}
        for change in self.since:
            if isinstance(change, int):
                length = change
                if chance.random() < share:
                    _resize(found, length)
            else:
                offset, data = change
                length = max(length, offset + len(data))
                for at in range(0, len(data), BLOCK):
                    if chance.random() < share:
                        _put(found, offset + at, data[at : at + BLOCK])
            lengths.add(length)
        lengths.add(chance.randint(min(lengths), max(lengths)))
        _resize(found, length if share == 1 else chance.choice(sorted(lengths)))
        return bytes(found)


def _resize(data: bytearray, length: int) -> None:
    del data[length:]
    data.extend(bytes(length - len(data)))


def _put(data: bytearray, offset: int, part: bytes) -> None:
    _resize(data, max(len(data), offset + len(part)))
    data[offset : offset + len(part)] = part


@dataclass
class Link:
    text: str


@dataclass
class Folder:
    now: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)
    since: list[dict[str, Node | None]] = field(default_factory=list)  # names that a call gave, took (None) or both

    def change(self, names: dict[str, Node | None]) -> None:
        _apply(self.now, names)
        self.since.append(names)

    def sync(self) -> None:
        self.synced, self.since = dict(self.now), []

    def sure(self, name: str) -> Node | None:
        node = self.now.get(name)
        return node if node is not None and all(each is node for each in self._views(name)) else None

    def possible(self, name: str) -> list[Node]:
        return [node for node in self._views(name) if node is not None]

    def _views(self, name: str) -> list[Node | None]:
        return [self.synced.get(name), *(names[name] for names in self.since if name in names)]

    def names(self) -> set[str]:
        return set(self.synced).union(*self.since)

    def left(self, chance: Random, share: float) -> dict[str, Node]:
        """The names that a power cut may leave: about this ``share`` of the calls since the last fsync were kept."""
        found = dict(self.synced)
        for names in self.since:
            if chance.random() < share:
                _apply(found, names)
        return found


def _apply(found: dict[str, Node], names: dict[str, Node | None]) -> None:
    for name, node in names.items():
        if node is None:
            found.pop(name, None)
        else:
            found[name] = node


Node = File | Link | Folder
SHARES = [0.0, 0.5, 1.0]


def leave(disk: Disk, to: Path, chance: Random) -> tuple[float, float]:
    """Make the folder ``to`` as a power cut now may leave the disk; (share of names, of data) that it kept."""
    names, data = chance.choice(SHARES), chance.choice(SHARES)
    made: dict[int, Path] = {}

    def put(folder: Folder, path: Path) -> None:
        path.mkdir()
        for name, node in sorted(folder.left(chance, names).items()):
            place = path / name
            if isinstance(node, Folder):
                put(node, place)
            elif isinstance(node, Link):
                place.symlink_to(node.text)
            elif id(node) in made:
                os.link(made[id(node)], place)
            else:
                place.write_bytes(node.left(chance, data))
                made[id(node)] = place

    put(disk.tree, to)
    return names, data


class Disk:
    """The tree under the folder ``root``, which is there and empty."""

    def __init__(self, root: str):
        self.root, self.tree = root, Folder()

    def replay(self, calls: list[Call]) -> Iterator[Call]:
        """Make the calls one by one; yields each after it was made."""
        for call in calls:
            if call.result >= 0:
                getattr(self, f"_{call.op}")(call)
                yield call

    def _at(self, path: str) -> tuple[Folder, str]:
        assert path.startswith(self.root), path
        *parents, name = path[len(self.root) :].strip("/").split("/")
        folder = self.tree
        for part in parents:
            folder = folder.now[part]
        return folder, name

    def _node(self, path: str) -> Node:
        folder, name = self._at(path)
        return folder.now[name] if name else self.tree

    def _create(self, call: Call) -> None:
        folder, name = self._at(call.path)
        if name not in folder.now:
            folder.change({name: File()})
        elif call.length == 0:
            folder.now[name].resize(0)

    def _write(self, call: Call) -> None:
        self._node(call.path).write(call.offset, call.data or bytes(call.result))

    _pwrite = _write

    def _ftruncate(self, call: Call) -> None:
        self._node(call.path).resize(call.length)

    _truncate = _ftruncate

    def _fsync(self, call: Call) -> None:
        self._node(call.path).sync()

    _fdatasync = _fsync

    def _rename(self, call: Call) -> None:
        (folder, name), (to, new) = self._at(call.path), self._at(call.other)
        node = folder.now[name]
        if folder is to:
            folder.change({name: None, new: node})
        else:
            folder.change({name: None})
            to.change({new: node})

    def _link(self, call: Call) -> None:
        folder, name = self._at(call.other)
        folder.change({name: self._node(call.path)})

    def _symlink(self, call: Call) -> None:
        folder, name = self._at(call.other)
        folder.change({name: Link(call.path)})

    def _mkdir(self, call: Call) -> None:
        folder, name = self._at(call.path)
        folder.change({name: Folder()})

    def _unlink(self, call: Call) -> None:
        folder, name = self._at(call.path)
        folder.change({name: None})

    _rmdir = _unlink
