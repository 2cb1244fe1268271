"""The passes of one command. Finished ones are remembered on disk, so that the same command goes on after them.

A pass is a function that returns JSON, and writes only to the places it names. When it ends, its files are synced. Then its
result is added to `progress.json`, with checksums of the files. A pass that was cut short starts over with empty places. Where a
file of a finished pass has changed since, all passes start over.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from marius_lite import files
from marius_lite.log import log
from marius_lite.printable import printable
from marius_lite.storage.checksum import file_checksum

PROGRESS, LAST = "progress.json", "dataset"
Result = TypeVar("Result")
Files = dict[Path, tuple[int, int]]  # (size, crc32c) of files written


class Passes:
    """The passes of one command in folder ``root``: which are finished, and their results.

    ``command``: digest of the command. What another command left in the folder is removed. ``seconds``: by pass, those of
    earlier runs too.
    """

    def __init__(self, root: Path, command: str, keep: Sequence[str] = ()):
        self._root, self._command = root, command
        self._done: dict[str, Any] = {}
        if (done := _read(root / PROGRESS, command)) is not None and not self._changed(done):
            self._done = done
        else:
            files.remove_tree(root / PROGRESS)  # first, because the files it lists go next
            files.sync(root)
            for leftover in root.iterdir():
                if leftover.name not in keep:
                    files.remove_tree(leftover)
        if self._done:
            log.info(f"{root}: going on after pass {list(self._done)[-1]!r} of a run that was interrupted")

    @property
    def seconds(self) -> dict[str, float]:
        return {name: entry["seconds"] for name, entry in self._done.items()}

    @property
    def files(self) -> Files:
        """The files that finished passes wrote, those included that later passes have removed."""
        return {
            self._root / name: (size, checksum)
            for entry in self._done.values()
            for name, (size, checksum) in entry.get("files", {}).items()
        }

    @property
    def any(self) -> bool:
        """Whether there is a finished pass."""
        return bool(self._done)

    def any_of(self, *names: str) -> bool:
        """Whether one of these passes is finished."""
        return not self._done.keys().isdisjoint(names)

    def once(
        self,
        name: str,
        kind: type[Result],
        places: Sequence[Path],
        run: Callable[[], Result],
        known: Callable[[Result], Files] = lambda _: {},
    ) -> Result:
        """Return the result of pass ``name``: the remembered one, or that of ``run``, which writes only to ``places`` (files,
        folders).

        ``known``: the checksums of files that the result tells. Other files are read for theirs.
        """
        if name in self._done:
            return TypeAdapter(kind).validate_python(self._done[name]["result"])
        self.clear(places)
        started = time.perf_counter()
        result = run()
        for place in places:
            if place.is_dir():
                files.sync_tree(place, but=_linked)
            elif place.exists():
                files.sync(place)
        for folder in {self._root, *(place.parent for place in places)}:
            files.sync(folder)
        written = self._checksums(places, known(result))
        seconds = round(time.perf_counter() - started, 3)
        self._done[name] = {"seconds": seconds, "result": to_jsonable_python(result), "files": written}
        files.write_atomic(self._root / PROGRESS, _written(self._command, self._done))
        return result

    def clear(self, places: Sequence[Path]) -> None:
        """Remove files and folders that are no longer needed, or half written."""
        for place in places:
            files.remove_tree(place)

    def _checksums(self, places: Sequence[Path], known: Files) -> dict[str, tuple[int, int]]:
        """Return (size, crc32c) of all files in ``places``, by path relative to the root."""
        inside = (path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*"))))
        return {
            path.relative_to(self._root).as_posix(): known.get(path) or size_and_checksum(path)
            for path in inside
            if path.is_file()
        }

    def _changed(self, done: dict[str, Any]) -> bool:
        """Whether a file of these passes has changed. A missing file does not count: a later pass may have removed it."""
        for entry in done.values():
            for name, expected in entry.get("files", {}).items():
                if (path := self._root / name).is_file() and list(size_and_checksum(path)) != expected:
                    log.warning(f"{printable(str(path))}: was changed since the run that wrote it was interrupted: starting over")
                    return True
        return False


def all_of_it(written: Files) -> Files:
    """Return the result of a pass that returns nothing but the checksums of its files."""
    return written


def _linked(path: Path) -> bool:
    """Whether a file has another name: that of an older version, which was synced before it came into its place."""
    return path.stat().st_nlink > 1


def size_and_checksum(path: Path) -> tuple[int, int]:
    size = path.stat().st_size
    return size, file_checksum(path, size)


def _written(command: str, done: dict[str, Any]) -> bytes:
    text = json.dumps(done)
    return json.dumps({"command": command, "passes": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()


def is_finished(path: Path) -> bool:
    """Whether ``path`` is the record of a command, whichever, that has finished its last pass."""
    return LAST in (_read(path) or {})


def _read(path: Path, command: str | None = None) -> dict[str, Any] | None:
    """Return the finished passes. None where they are of another command, or the file is missing or damaged."""
    try:
        data = files.read(path)
        record = files.parse_json(data)
        done: dict[str, Any] = files.parse_json(record["passes"])
        return done if data == _written(command or record["command"], done) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
