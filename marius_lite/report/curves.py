"""Draw how runs went: loss, figures and learning rates, speed, waiting and memory, by epoch and by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from marius_lite.config.planning import planning_of
from marius_lite.report.charts import SERIES, chart
from marius_lite.report.history import Numbers
from marius_lite.report.page import grid
from marius_lite.report.subject import Subject
from marius_lite.report.thinned import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = {"lr_rows": "node rows", "lr_dense": "dense weights", "disk_read": "read", "disk_written": "written"}
FEW = 40
"""Points up to which each is marked."""


@dataclass(frozen=True)
class Drawn:
    """What a chart shows. ``names``: of the curves in it. ``scale``: by what values are divided."""

    title: str
    names: tuple[str, ...]
    scale: float = 1.0
    from_zero: bool = False


def progress(runs: Sequence[Subject]) -> str:
    """Return charts of loss, the figure and learning rates: by epoch, then by time."""
    figures = tuple(dict.fromkeys(run.config.training.metric for run in runs))
    beside = [name for name in ("hits@1", "hits@10", "macro_f1") if len(runs) == 1 and name not in figures]
    shown = [
        Drawn("loss, mean of each epoch", ("loss",)),
        Drawn("loss of batches, mean, with least and largest", ("batch_loss",)),
        Drawn(f"{_figures(runs, (*figures, *beside))} on {_splits(runs)}", (*figures, *beside)),
        Drawn("learning rate", ("lr_rows", "lr_dense")),
    ]
    return grid(_chart(runs, each, False) for each in shown) + grid(_chart(runs, each, True) for each in shown)


def machine(runs: Sequence[Subject]) -> str:
    """Return charts of the speed, of waiting, of memory, and of what the disk moved."""
    unit = " or ".join(sorted({planning_of(run.config).unit for run in runs}))
    shown = [
        Drawn(f"throughput, thousand {unit} a second", ("throughput",), 1e3, True),
        Drawn("waiting for I/O, % of an epoch's time", ("waiting",), 1e-2, True),
        Drawn("peak memory of the process so far, GB", ("memory",), 1e9, True),
        Drawn("disk, MB a second", ("disk_read", "disk_written"), 1e6, True),
    ]
    return grid(_chart(runs, each, False) for each in shown)


def _figures(runs: Sequence[Subject], names: Sequence[str]) -> str:
    return ", ".join(name for name in names if any(name in run.history.curves for run in runs))


def _splits(runs: Sequence[Subject]) -> str:
    return ", ".join(dict.fromkeys(str(run.history.evaluation.get("split", run.config.evaluation.split)) for run in runs))


def _chart(runs: Sequence[Subject], drawn: Drawn, by_time: bool) -> str:
    """Return a chart, or nothing where no run has recorded any of it. One colour is a run, or, of one run, a curve."""
    curves = [(run, name, run.history.curve(name)) for run in runs for name in drawn.names]
    given = [(run, name, curve) for run, name, curve in curves if curve is not None and len(curve.place)]
    if not given:
        return ""
    seconds = max(float(run.history.elapsed(curve.time)[-1]) for run, _, curve in given)
    unit, divisor = next((each for each in (("hours", 3600.0), ("minutes", 60.0)) if seconds > 2 * each[1]), ("seconds", 1.0))
    several = len({name for _, name, _ in given}) > 1

    def draw(axes: Axes) -> None:
        for run, name, curve in given:
            one = runs.index(run) if len(runs) > 1 else drawn.names.index(name)
            what = LABELS.get(name, name)
            label = (f"{run.name}: {what}" if several else run.name) if len(runs) > 1 else what
            x = run.history.elapsed(curve.time) / divisor if by_time else curve.place
            dashed = drawn.names.index(name) > 0 and (len(runs) > 1 or name in LABELS)
            _draw_curve(axes, x, curve, drawn.scale, SERIES[one % len(SERIES)], label, "--" if dashed else "-")
        axes.set_xlabel(f"{unit} of training" if by_time else "epochs")
        if drawn.from_zero:
            axes.set_ylim(bottom=0)
        if len(given) > 1:
            axes.legend(labelcolor="#010101")

    return chart(draw, f"{drawn.title}, by {'time' if by_time else 'epoch'}")


def _draw_curve(axes: Axes, x: Numbers, curve: Curve, scale: float, colour: str, label: str, style: str) -> None:
    low, mean, high = (np.asarray(each) / scale for each in (curve.low, curve.mean, curve.high))
    if (high > low).any():
        axes.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0)
    axes.plot(x, mean, style, color=colour, label=label, marker="o" if len(x) <= FEW else "", markersize=3)
