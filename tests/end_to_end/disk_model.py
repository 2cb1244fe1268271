"""A file system that has forgotten whatever was not synced: the calls of a trace, replayed.

Two views of every folder are kept: what it holds, and what it held at its last fsync. After a power cut either may be
found, name by name; so a name counts as *sure* only when both agree on it, and as *possible* when one has it. A file's data
count only while nothing was written since its last fsync.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from faults import Call


@dataclass
class File:
    size: int = 0
    version: int = 0
    synced_version: int = 0
    synced_size: int = 0

    def write(self, end: int) -> None:
        self.size = max(self.size, end)
        self.version += 1

    def sync(self) -> None:
        self.synced_version, self.synced_size = self.version, self.size

    @property
    def synced(self) -> bool:
        return self.version == self.synced_version


@dataclass
class Link:
    text: str


@dataclass
class Folder:
    now: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)

    def sync(self) -> None:
        self.synced = dict(self.now)

    def sure(self, name: str) -> Node | None:
        node = self.now.get(name)
        return node if node is not None and self.synced.get(name) is node else None

    def possible(self, name: str) -> list[Node]:
        return [view[name] for view in (self.synced, self.now) if name in view]

    def names(self) -> set[str]:
        return set(self.now) | set(self.synced)


Node = File | Link | Folder


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
        *parents, name = path[len(self.root):].strip("/").split("/")
        folder = self.tree
        for part in parents:
            folder = folder.now[part]
        return folder, name

    def _node(self, path: str) -> Node:
        folder, name = self._at(path)
        return folder.now[name] if name else self.tree

    def _create(self, call: Call) -> None:
        folder, name = self._at(call.path)
        folder.now.setdefault(name, File()).version += 1  # it may have been emptied

    def _write(self, call: Call) -> None:
        self._node(call.path).write(call.offset + call.result)

    _pwrite = _write

    def _ftruncate(self, call: Call) -> None:
        file = self._node(call.path)
        file.size = call.length
        file.version += 1

    _truncate = _ftruncate

    def _fsync(self, call: Call) -> None:
        self._node(call.path).sync()

    _fdatasync = _fsync

    def _rename(self, call: Call) -> None:
        (folder, name), (to, new) = self._at(call.path), self._at(call.other)
        to.now[new] = folder.now.pop(name)

    def _link(self, call: Call) -> None:
        folder, name = self._at(call.other)
        folder.now[name] = self._node(call.path)

    def _symlink(self, call: Call) -> None:
        folder, name = self._at(call.other)
        folder.now[name] = Link(call.path)

    def _mkdir(self, call: Call) -> None:
        folder, name = self._at(call.path)
        folder.now[name] = Folder()

    def _unlink(self, call: Call) -> None:
        folder, name = self._at(call.path)
        del folder.now[name]

    _rmdir = _unlink
