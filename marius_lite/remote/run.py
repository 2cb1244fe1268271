"""A run in object storage. Training works in a folder of this machine, which is published after each checkpoint.

    objects/<writer>/<number>        parts of files: never changed, and sent once
    manifests/<writer>/<generation>  which files the run has, and which parts each is made of
    run.json                         the pointer: which manifest is the run's

First new parts are sent, then a manifest, then the pointer is put, on the condition that it is still the one known here. So
whoever reads finds the files of one checkpoint or of the next, and of two writers one loses. After that, what only the manifest
before had is removed. Nothing is ever read because a listing has it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from marius_lite import files
from marius_lite.errors import MariusError, RunError, UserError
from marius_lite.log import log
from marius_lite.remote.address import BucketAddress, address_of
from marius_lite.remote.failures import Damaged
from marius_lite.remote.store import ObjectStore, Taken
from marius_lite.remote.transfer import Sender, fetch
from marius_lite.remote.tree import (
    MANIFEST,
    MOST_MANIFEST,
    MOST_POINTER,
    OBJECT,
    Part,
    Pointer,
    Tree,
    new_writer,
    parse_pointer,
    parse_tree,
)

T = TypeVar("T")

POINTER = "run.json"
RUN = "run"
"""The folder of a run in its place on this machine."""
LOCAL = ("live", "lock", "tensorboard", "index")
"""What stays on this machine: it is made again from the rest."""
CHECKPOINTS = "checkpoints"
OVERTAKEN = 5
"""How often a reader begins again where the writer has replaced what it reads."""


class PublishedRun:
    """The run at ``address``, for the one who writes it in ``folder``."""

    def __init__(self, address: BucketAddress):
        self.address, self.folder = address, address.place / RUN
        self._store, self._writer = ObjectStore(address), new_writer()
        self._sender = Sender(self._store, self._writer)
        self._tree, self._generation = Tree(), 0
        self._version: str | None = None
        self._garbage: set[str] = set()

    def require_new(self) -> None:
        """Raise UserError where there is a run at the address. What is left here of another one is removed."""
        if self._store.get(POINTER, MOST_POINTER) is not None:
            raise UserError(
                f"{self.address}: exists already: `marius-lite resume {self.address}` continues it, or choose another --run"
            )
        for left in self.folder.iterdir():
            if left.name != "lock":
                files.remove_tree(left)

    def take_over(self) -> None:
        """Become the one who writes the run, and bring the folder to where the run is. Who wrote it before can do so no more.

        The caller has locked the folder. Raises UserError where there is no run.
        """
        pointer, self._version = _read_pointer(self._store)
        self._generation = pointer.generation + 1
        self._put_pointer(Pointer(self._writer, self._generation, pointer.name, pointer.size, pointer.sha256))
        self._tree = _read_tree(self._store, pointer)
        for path, parts in _brought_here(self._store, self._tree, self.folder).items():
            self._sender.know(path, parts)
        used = {*self._tree.objects, pointer.name}
        left = [*self._store.listed("objects"), *self._store.listed("manifests")]
        self._garbage = {pointer.name} | {name for name in left if (OBJECT.fullmatch(name) or MANIFEST.fullmatch(name))} - used

    def publish(self) -> None:
        """Send what is new in the folder, and let the run be that. Raises RunError where another process writes the run now."""
        paths, links = _here(self.folder)
        tree = Tree(self._sender.send(paths, self._tree), links)
        if self._version is not None and tree == self._tree:
            return
        self._generation += 1  # never twice: a pointer whose answer was lost may name the manifest before
        data, name = tree.to_json(), f"manifests/{self._writer}/{self._generation}"
        self._store.put(name, data)
        self._sender.sent.add(name)
        self._put_pointer(Pointer(self._writer, self._generation, name, len(data), hashlib.sha256(data).hexdigest()))
        used = {*tree.objects, name}
        self._garbage |= (self._tree.objects | self._sender.sent) - used
        self._tree = tree
        self._sender.keep(used)
        self._remove_garbage(used)

    def try_to_publish(self) -> None:
        """Publish, or say why not: training goes on, and the next checkpoint is published. Raises RunError where another process
        writes the run now."""
        try:
            self.publish()
        except OvertakenError:
            raise
        except MariusError as error:
            log.warning("this checkpoint is on this machine alone, the next one will be sent with it: %s", error)

    def _put_pointer(self, pointer: Pointer) -> None:
        def check(data: bytes) -> None:
            parse_pointer(data, self._store.where(POINTER))

        try:
            self._version = self._store.put_if(POINTER, pointer.to_json(), self._mine_now(), check)
        except Taken:
            raise OvertakenError(
                f"{self.address}: another process has begun to write this run, so this one ends. "
                f"Its own checkpoints are in {self.folder}"
            ) from None

    def _mine_now(self) -> str | None:
        """Return the version of the pointer that may be replaced: the last that was answered, or a later one of this process."""
        found = self._store.get(POINTER, MOST_POINTER, lambda data: parse_pointer(data, self._store.where(POINTER)))
        if found and parse_pointer(found[0], self._store.where(POINTER)).writer == self._writer:
            return found[1]
        return self._version

    def _remove_garbage(self, used: set[str]) -> None:
        try:
            self._store.remove(sorted(self._garbage - used))
            self._garbage = set()
        except MariusError as error:
            log.debug("%s: what is no longer used stays for now: %s", self.address, error)


class OvertakenError(RunError):
    """Another process writes the run now."""


def published_run(path: Path | str) -> PublishedRun | None:
    """Return the run at an address, for writing; None for a folder of this machine."""
    address = address_of(path)
    return PublishedRun(address) if address else None


def is_published_run(path: Path | str) -> bool:
    """Return whether ``path`` is an address in object storage with a run."""
    address = address_of(path)
    return address is not None and ObjectStore(address).get(POINTER, MOST_POINTER) is not None


def run_to_read(path: Path | str) -> Path:
    """Return a folder of this machine with what the run at ``path`` has now. A folder is returned as it is.

    Raises UserError where there is no run, RunError where the server fails.
    """
    address = address_of(path)
    if address is None:
        return Path(path)
    folder, store = address.place / RUN, ObjectStore(address)
    files.make_folder(folder)
    with ExitStack() as stack:
        try:
            stack.enter_context(files.lock(folder / "lock"))
        except UserError:
            log.info("%s is being written on this machine: its own folder is read", address)
            return folder
        _while_overtaken(store, lambda pointer: _brought_here(store, _read_tree(store, pointer), folder))
    return folder


def _while_overtaken(store: ObjectStore, read: Callable[[Pointer], T]) -> T:
    """Return what ``read`` makes of the pointer. It begins again where something is missing, and the pointer has moved on."""
    pointer, version = _read_pointer(store)
    for _ in range(OVERTAKEN):
        try:
            return read(pointer)
        except UserError:
            before, (pointer, version) = version, _read_pointer(store)
            if version == before:
                raise
    return read(pointer)


def _read_pointer(store: ObjectStore) -> tuple[Pointer, str]:
    found = store.get(POINTER, MOST_POINTER, lambda data: parse_pointer(data, store.where(POINTER)))
    if found is None:
        raise UserError(f"{store.address}: there is no run: `marius-lite train DATASET --run {store.address}` makes one")
    return parse_pointer(found[0], store.where(POINTER)), found[1]


def _read_tree(store: ObjectStore, pointer: Pointer) -> Tree:
    def check(data: bytes) -> None:
        if (len(data), hashlib.sha256(data).hexdigest()) != (pointer.size, pointer.sha256):
            raise Damaged("it does not match its checksum")

    found = store.get(pointer.name, MOST_MANIFEST, check)
    if found is None:
        raise UserError(f"{store.where(pointer.name)}: missing, though {POINTER} names it: bring it back")
    return parse_tree(found[0], store.where(pointer.name))


def _brought_here(store: ObjectStore, tree: Tree, folder: Path) -> dict[Path, tuple[Part, ...]]:
    """Make ``folder`` what ``tree`` says. Checkpoints that it does not have are removed. Returns its files with their parts."""
    paths, links = _here(folder)
    for name in {*paths, *links} - {*tree.files, *tree.links}:
        if name.startswith(f"{CHECKPOINTS}/"):
            (folder / name).unlink()
    for parent, _, _ in os.walk(folder / CHECKPOINTS, topdown=False):
        if not os.listdir(parent):
            os.rmdir(parent)
    found = fetch(store, tree, folder)
    for name, target in tree.links.items():
        files.make_folder((folder / name).parent)
        files.point(folder / name, target)
    return found


def _here(folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the files and the links of a run, by name."""
    paths, links = dict[str, Path](), dict[str, str]()
    for path in _walk(folder):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            links[name] = os.readlink(path)
        else:
            paths[name] = path
    return paths, links


def _walk(folder: Path, top: bool = True) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name.endswith(".tmp") or (top and path.name in LOCAL):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path, False)
        else:
            yield path
