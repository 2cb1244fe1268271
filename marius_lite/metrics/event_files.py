"""Write a run's curves as event files for TensorBoard, while it trains. They follow from metrics.jsonl."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.errors import UserError

SECONDS = 1.0
"""Batches of so long a time make one point: the mean of their losses."""
NOT_FIGURES = ("kind", "epoch", "step", "batch", "time", "split", "count", "candidates", "filtered", "ties", "machine")


def require_tensorboard() -> None:
    """Raise UserError where tensorboard is not installed."""
    if find_spec("tensorboard") is None:
        raise UserError("--tensorboard: tensorboard is not installed: pip install 'marius-lite[tensorboard]'")


class TensorBoardCurves:
    """Writes event files into ``folder``, anew from the ``lines`` that the run has recorded so far. `add` adds later ones.

    Steps of the curves are batches, or, of whole epochs and evaluations, epochs.
    """

    def __init__(self, folder: Path, lines: Iterable[dict[str, Any]] = ()):
        from torch.utils.tensorboard import SummaryWriter

        files.remove_tree(folder)
        self._writer: Any = SummaryWriter(str(folder))
        self._batches, self._since, self._losses = 0, 0.0, list[float]()
        for line in lines:
            self.add(line)

    def add(self, line: dict[str, Any]) -> None:
        """Add a line of metrics.jsonl."""
        kind, epoch, time = line["kind"], line["epoch"] + 1, line["time"]
        if kind == "batch":
            self._add_batch(line, time)
        elif kind == "epoch":
            machine = line["machine"]
            self._write("loss/epoch", line["loss"], epoch, time)
            self._write("machine/items_per_s", machine["edges_per_s"], epoch, time)
            self._write("machine/waiting_share", machine["wait_s"] / max(machine["seconds"], 1e-9), epoch, time)
            self._write("machine/peak_rss", machine["peak_rss"], epoch, time)
            self._writer.flush()
        elif kind == "evaluation":
            for name, value in line.items():
                if name not in NOT_FIGURES and value is not None:
                    self._write(f"{line['split']}/{name}", value, epoch, time)
            self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def _add_batch(self, line: dict[str, Any], time: float) -> None:
        self._batches += 1
        self._losses.append(line["loss"])
        if time - self._since >= SECONDS:
            self._write("loss/batches", sum(self._losses) / len(self._losses), self._batches, time)
            self._since, self._losses = time, []
        for name, rate in line.get("lr", {}).items():
            self._write(f"lr/{name}", rate, self._batches, time)

    def _write(self, name: str, value: float, step: int, time: float) -> None:
        self._writer.add_scalar(name, value, step, time)
