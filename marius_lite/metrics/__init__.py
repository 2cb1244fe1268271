"""Write and read metrics.jsonl: numbers and times of a run, as JSON lines with their place in it. Reports are made from it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from marius_lite.files import disk_error, truncate

FLUSH_SECONDS = 0.5
_json = json.JSONEncoder(separators=(",", ":")).encode  # made once: a run may write a line for each of millions of batches


class MetricsLog:
    """Appends lines to ``metrics.jsonl``.

    It is opened at ``length`` bytes, which a checkpoint knows. What a later, lost part of the run wrote is cut off, so that every
    (epoch, step, batch) is in the file once. Raises RunError where the disk is full or fails.
    """

    def __init__(self, path: Path, length: int | None = None):
        self.path = path
        with self._errors():
            if path.exists():
                truncate(path, min(length or 0, path.stat().st_size))
            self._file = open(path, "ab", buffering=1 << 16)  # noqa: SIM115 closed by close()
        self._flushed = time.monotonic()
        self._listeners: list[Callable[[dict[str, Any]], object]] = []

    def tell(self, listener: Callable[[dict[str, Any]], object]) -> None:
        """Give every line that is written from now on to a listener too."""
        self._listeners.append(listener)

    def write(self, kind: str, epoch: int, step: int, batch: int, **values: Any) -> None:
        """Append a line of a kind at a place in the run, with its values and the time."""
        line = {"kind": kind, "epoch": epoch, "step": step, "batch": batch, **values, "time": round(time.time(), 3)}
        with self._errors():
            self._file.write(_json(line).encode() + b"\n")
            if time.monotonic() - self._flushed > FLUSH_SECONDS:
                self._file.flush()
                self._flushed = time.monotonic()
            for listener in self._listeners:
                listener(line)

    def sync(self) -> int:
        """Make all lines durable. Returns the file's length in bytes."""
        with self._errors():
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._file.tell()

    def close(self) -> None:
        with self._errors():
            self._file.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise disk_error(error, self.path) from error


class NoMetrics(MetricsLog):
    """A log that keeps nothing, for processes beside the one that writes the run's files."""

    def __init__(self) -> None:
        pass

    def write(self, kind: str, epoch: int, step: int, batch: int, **values: Any) -> None:
        pass

    def sync(self) -> int:
        return 0

    def close(self) -> None:
        pass


def each(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a metrics file, one after another. A last line that a crash cut short is left out."""
    if not path.exists():
        return
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


def read(path: Path, start: int = 0) -> list[dict[str, Any]]:
    """Read the lines of a metrics file from byte ``start`` on. A last line that a crash cut short is left out."""
    if not path.exists():
        return []
    with open(path, "rb") as file:
        file.seek(start)
        lines = file.read().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]
