"""Read what a run recorded, metrics.jsonl, in bounded memory: thinned curves, and the timeline of one epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from marius_lite.files import disk_errors, parse_json
from marius_lite.report.thinned import Curve, Thinned

BLOCK = 16 << 20
PAUSE = 5.0
"""Seconds without a line from which on the place may be one where a run stood still."""
MOST_TIMELINE = 20_000
"""Lines of an epoch's timeline that are kept."""
NO_LINE = b"?"  # stands for a line longer than a run writes
COLUMNS = pa.schema(
    [("kind", pa.string()), ("loss", pa.float64()), ("time", pa.float64()), ("lr", pa.struct([("dense", pa.float64())]))]
)
BY_BATCH = ("batch_loss", "lr_rows", "lr_dense", "memory")
"""Curves whose places count batches while they are read."""
FIGURES = ("mrr", "hits@1", "hits@3", "hits@10", "accuracy", "macro_f1", "micro_f1", "roc_auc", "average_precision", "log_loss")

Line = dict[str, Any]
Numbers = npt.NDArray[np.float64]


@dataclass
class History:
    """What a run recorded. Curves are named; their places are epochs, 1 being the end of the first, or, of those BY_BATCH, count
    batches until `curve` turns them into epochs. ``pauses``: when the run stood still, from its last line to the start of the
    next process, by Unix time. ``timeline``: what the lines of one epoch say under ``machine``.
    """

    curves: dict[str, Thinned] = field(default_factory=dict)
    batches: int = 0
    epochs: int = 0
    first_time: float = 0.0
    last_time: float = 0.0
    ends: Thinned = field(default_factory=Thinned)
    gaps: list[tuple[float, float]] = field(default_factory=list)
    started: float | None = None
    pauses: list[tuple[float, float]] = field(default_factory=list)
    timeline: list[Line] = field(default_factory=list)
    timeline_epoch: int | None = None
    evaluation: Line = field(default_factory=dict)
    unreadable: int = 0

    def curve(self, name: str) -> Curve | None:
        """Return a curve with places in epochs; None where nothing of the name was recorded."""
        if name not in self.curves:
            return None
        curve = self.curves[name].curve()
        return curve._replace(place=self.epoch_of(curve.place)) if name in BY_BATCH else curve

    def epoch_of(self, batch: Numbers) -> Numbers:
        """Return at which epoch, with its fraction, so many batches were trained."""
        ends = self.ends.curve()
        known, epochs = np.concatenate([[0.0], ends.place]), np.concatenate([[0.0], ends.high])
        if len(known) == 1:
            return batch / max(self.batches, 1)
        after = (batch - known[-1]) * (epochs[-1] - epochs[-2]) / max(known[-1] - known[-2], 1)
        return np.asarray(np.where(batch > known[-1], epochs[-1] + after, np.interp(batch, known, epochs)))

    def elapsed(self, time: Numbers) -> Numbers:
        """Return seconds since the first line, without the time between a stop and the `resume` after it."""
        stood = sum(np.where(time >= end, end - begin, 0.0) for begin, end in self.pauses)
        return np.asarray(time - self.first_time - stood)

    def add(self, line: Line, batches: int) -> None:
        """Add a line that is no batch's. ``batches``: how many batches were before it."""
        adders = {
            "epoch": self._add_epoch,
            "step": self._add_step,
            "evaluation": self._add_evaluation,
            "timeline": self._add_timeline,
        }
        if line["kind"] in adders:
            adders[line["kind"]](line, batches)

    def _add_epoch(self, line: Line, batches: int) -> None:
        epoch, time, machine = line["epoch"] + 1, line["time"], line["machine"]
        self.epochs = epoch
        self.ends.add(batches, time, epoch)
        seconds = max(machine["seconds"], 1e-9)
        self.point("loss", epoch, time, line["loss"])
        self.point("throughput", epoch, time, machine["edges_per_s"])
        self.point("waiting", epoch, time, machine["wait_s"] / seconds)
        for name in ("disk_read", "disk_written"):
            if name in machine:
                self.point(name, epoch, time, machine[name] / seconds)

    def _add_step(self, line: Line, batches: int) -> None:
        self.point("memory", batches, line["time"], line["machine"]["peak_rss"])

    def _add_evaluation(self, line: Line, batches: int) -> None:
        self.evaluation = line
        if "machine" in line:  # runs of earlier versions do not say it of evaluations
            self.point("memory", batches, line["time"], line["machine"]["peak_rss"])
        for name in FIGURES:
            if line.get(name) is not None:
                self.point(name, line["epoch"] + 1, line["time"], line[name])

    def _add_timeline(self, line: Line, batches: int) -> None:
        told = line["machine"]
        start = told["started"]
        if self.started not in (None, start):
            self.pauses.append((max((begin for begin, end in self.gaps if begin <= start <= end), default=start), start))
        self.started = start
        self.gaps = [gap for gap in self.gaps if gap[1] > line["time"]]  # no later process began in the others
        if "resident" not in told:
            return
        if line["epoch"] != self.timeline_epoch:
            self.timeline, self.timeline_epoch = [], line["epoch"]
        if len(self.timeline) < MOST_TIMELINE:
            self.timeline.append(told)

    def point(self, name: str, place: npt.ArrayLike, time: npt.ArrayLike, value: npt.ArrayLike) -> None:
        """Add a point, or points, to a curve."""
        self.curves.setdefault(name, Thinned()).add(place, time, value)


def read_history(path: Path) -> History:
    """Read metrics.jsonl. Lines that cannot be read are counted as ``unreadable``. Raises RunError where the disk fails.

    Memory does not grow with the file. Batches, which are nearly all lines, are parsed by Arrow.
    """
    history = History()
    with disk_errors(path):
        for block in _blocks(path):
            try:
                _add_block(history, block)
            except pa.ArrowInvalid:  # nothing of the block is added then
                for line in block.splitlines(keepends=True):
                    try:
                        _add_block(history, line)
                    except pa.ArrowInvalid:
                        history.unreadable += 1
    return history


def lines_but_batches(path: Path) -> Iterator[Line]:
    """Yield every line of metrics.jsonl that is not a batch's, in order. Lines that cannot be read are left out."""
    with disk_errors(path):
        for block in _blocks(path):
            for line in block.splitlines():
                if not line.startswith(b'{"kind":"batch"'):
                    try:
                        read = parse_json(line)
                    except ValueError:
                        continue
                    if isinstance(read, dict) and "kind" in read:
                        yield read


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield whole lines of a file, many at a time. A last line without its end is left out. Of one that is longer than a block
    only what cannot be read is yielded."""
    if not path.exists():
        return
    rest = b""
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            whole, end, rest = (rest + block).rpartition(b"\n")
            if end:
                yield whole + end
            elif len(rest) > BLOCK:
                rest = NO_LINE


def _add_block(history: History, block: bytes) -> None:
    """Add whole lines. Raises ArrowInvalid, before anything is added, where one of them is no object with the columns' types."""
    options = arrow_json.ParseOptions(explicit_schema=COLUMNS, unexpected_field_behavior="ignore")
    table = arrow_json.read_json(pa.BufferReader(block), arrow_json.ReadOptions(block_size=len(block) + 1), options)
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    if len(table) != len(ends):
        raise pa.ArrowInvalid("a line is empty, or has several objects")
    of_batch = pc.equal(table["kind"], "batch").to_numpy(zero_copy_only=False)
    time = table["time"].to_numpy()
    _note_times(history, time)
    before = history.batches + np.cumsum(of_batch)
    count = int(of_batch.sum())
    if count:
        history.point("batch_loss", before[of_batch], time[of_batch], table["loss"].to_numpy()[of_batch])
    rated = table["lr"].is_valid().to_numpy()
    others = np.flatnonzero(~of_batch | rated)
    for at in others.tolist():
        try:
            line = parse_json(block[int(ends[at - 1]) + 1 if at else 0 : int(ends[at])])
            if line["kind"] == "batch":
                for name, rate in line["lr"].items():
                    history.point(f"lr_{name}", before[at], line["time"], rate)
            else:
                history.add(line, int(before[at]))
        except (KeyError, TypeError, ValueError):
            history.unreadable += 1
    history.batches += count


def _note_times(history: History, time: Numbers) -> None:
    if not history.first_time:
        history.first_time = history.last_time = float(time[0])
    times = np.concatenate([[history.last_time], time])
    for at in np.flatnonzero(np.diff(times) > PAUSE).tolist():
        history.gaps.append((float(times[at]), float(times[at + 1])))
    history.last_time = float(time[-1])
