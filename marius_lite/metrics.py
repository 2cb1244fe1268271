"""metrics.jsonl: scalars and spans as JSON lines with their place in the run; the only bridge to reports."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from marius_lite.files import truncate

FLUSH_SECONDS = 0.5


class MetricsLog:
    """Appends lines to ``metrics.jsonl``.

    Opened at ``length`` bytes (from a checkpoint), it cuts off what a later, lost part of the run had written, so
    that every (epoch, step, batch) stands in the file once.
    """

    def __init__(self, path: Path, length: int | None = None):
        self.path = path
        if path.exists():
            truncate(path, length if length is not None else 0)
        self._file = open(path, "ab", buffering=1 << 16)  # noqa: SIM115 closed by close()
        self._flushed = time.monotonic()

    def write(self, kind: str, epoch: int, step: int, batch: int, **values: Any) -> None:
        line = {"kind": kind, "epoch": epoch, "step": step, "batch": batch, **values, "time": round(time.time(), 3)}
        self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self._file.flush()
            self._flushed = time.monotonic()

    def sync(self) -> int:
        """Make all lines durable; the file's length in bytes."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


def read(path: Path) -> list[dict[str, Any]]:
    """All lines of a metrics file; a last line cut short by a crash is left out."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]
