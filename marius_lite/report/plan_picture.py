"""Draw an epoch as steps x partitions: which are loading, resident, trained or being written, as it was or as it is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.plans import plans_of
from marius_lite.report.charts import SERIES, VARIABLES, chart
from marius_lite.report.page import paragraph
from marius_lite.report.subject import Subject
from marius_lite.types import EpochPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS = "steps"
Line = Mapping[str, Any]
STATES = {"resident": (SERIES[7], 0.4), "training": (SERIES[0], 0.85), "loading": (SERIES[2], 1.0), "writing": (SERIES[1], 1.0)}
"""The colour of each state and how much it covers. Later ones are drawn over earlier ones."""
MOST = 6000
"""Rectangles of a picture, about; an epoch with more is shown from its beginning on."""
SHARE = 0.35
"""The part of a step that a planned load or write is drawn as."""


@dataclass
class PlanPicture:
    """What is drawn. ``spans``: by state, (partition, begin, end)."""

    title: str
    unit: str
    remark: str
    spans: dict[str, list[tuple[int, float, float]]] = field(default_factory=lambda: {state: [] for state in STATES})

    def add(self, state: str, partition: int, begin: float, end: float) -> None:
        """Add a span. One that begins where the partition's last one of the state ends makes it longer."""
        last = self.spans[state][-1] if self.spans[state] else None
        if last and last[0] == partition and abs(last[2] - begin) < 1e-9:
            self.spans[state][-1] = (partition, last[1], end)
        else:
            self.spans[state].append((partition, begin, end))

    def html(self) -> str:
        """Return the picture with its key."""
        from matplotlib.ticker import MaxNLocator

        spans = [span for each in self.spans.values() for span in each]
        partitions = max(k for k, _, _ in spans) + 1
        begin, end = min(b for _, b, _ in spans), max(e for _, _, e in spans)

        def draw(axes: Axes) -> None:
            for state, (colour, alpha) in STATES.items():
                _rectangles(axes, self.spans[state], colour, alpha)
            axes.set(xlim=(begin, end), ylim=(partitions - 0.5, -0.5), xlabel=self.unit, ylabel="partition")
            axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
            if self.unit == STEPS:  # there is no half of one
                axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
            axes.grid(visible=False)

        size = (11.0, min(9.0, 1.4 + 0.16 * partitions))
        drawn = chart(draw, self.title, size).replace("<figure>", '<figure class="wide">')
        key = "".join(
            f'<span><i style="background: var(--{VARIABLES[colour]}); opacity: {alpha}"></i>{state}</span>'
            for state, (colour, alpha) in STATES.items()
        )
        return f'<p class="key">{key}</p>{drawn}{paragraph(self.remark)}'


def plan_of_run(run: Subject) -> str:
    """Return the picture of an epoch of a run: as it was, where that is recorded, else as it was planned."""
    if any("step" in line for line in run.history.timeline):
        return recorded(run.history.timeline, run.history.timeline_epoch or 0).html()
    if run.dataset is None:
        return paragraph("No timeline is recorded, and without the dataset the plan is not known.")
    return planned(plans_of(run.dataset, run.config)(0), run.config, run.dataset).html()


def recorded(timeline: Sequence[Line], epoch: int) -> PlanPicture:
    """Return the picture of an epoch as it was, from what its lines say under ``machine``; at least one has a step."""
    steps = [line for line in timeline if "step" in line]
    shown = _first(steps, [len(line["resident"]) + len(line.get("load", ())) + len(line.get("write", ())) for line in steps])
    zero, end = shown[0]["step"][0][0], shown[-1]["step"][0][1]
    cut = "" if len(shown) == len(steps) else f" Only the first {len(shown):,} of its {len(steps):,} steps are shown."
    picture = PlanPicture(
        f"epoch {epoch + 1} as it was",
        "seconds since the epoch's first step",
        f"As recorded. What is shorter than a hair's breadth is drawn as one.{cut}",
    )
    for k in sorted({k for line in shown for k in line["resident"]}):
        until = zero
        for before, line in zip([{"resident": ()}, *shown], shown):
            if k in line["resident"]:
                begin = until if k in before["resident"] else line["step"][0][0]  # between two steps it stays
                until = line["step"][0][1]
                picture.add("training" if k in line["trained"] else "resident", k, begin - zero, until - zero)
    for kind, state in (("load", "loading"), ("write", "writing")):
        for k, begin, stop in (each for line in shown for each in line.get(kind, ())):
            if stop > zero and begin < end:
                picture.add(state, k, max(begin, zero) - zero, min(stop, end) - zero)
                if kind == "load" and (step := _awaited(shown, k, stop)) is not None:
                    picture.add("resident", k, stop - zero, step - zero)
    return picture


def _awaited(steps: Sequence[Line], k: int, loaded: float) -> float | None:
    """Return when the step begins that a partition waits for from ``loaded`` on; None where it is in a step already."""
    under_way = [line for line in steps if line["step"][0][0] <= loaded]
    if under_way and k in under_way[-1]["resident"]:
        return None
    return next((float(line["step"][0][0]) for line in steps[len(under_way) :] if k in line["resident"]), None)


def planned(plan: EpochPlan, config: Config, dataset: Dataset) -> PlanPicture:
    """Return the picture of an epoch's plan. Steps are drawn as if all took as long."""
    shown = _first(plan.steps, [len(step.resident) + len(step.load) + len(step.evict) for step in plan.steps])
    cut = "" if len(shown) == len(plan.steps) else f" Only the first {len(shown):,} of {len(plan.steps):,} steps are shown."
    early = config.storage.prefetch
    picture = PlanPicture(
        f"epoch {plan.epoch + 1} as planned ({plan.ordering}): {len(plan.steps):,} steps, {plan.swaps:,} swaps",
        STEPS,
        "As planned, not as it was: steps, loads and writes take different times. What leaves is written in the background; "
        f"{'the next partitions load while a step trains' if early else 'nothing is loaded ahead'}.{cut}",
    )
    for k in range(dataset.partitioning.partitions):
        for step in shown:
            if k in step.resident:
                picture.add("training" if k in step.trained else "resident", k, step.index, step.index + 1.0)
    for step in shown:
        at = step.index - SHARE if early or not step.index else step.index
        for k in step.load:
            picture.add("loading", k, at, at + SHARE)
        for k in step.evict if config.learns_rows else ():
            picture.add("writing", k, step.index, step.index + SHARE)
    return picture


def _first(steps: Sequence[Any], sizes: Sequence[int]) -> Sequence[Any]:
    """Return the first steps, at least one, that make about MOST rectangles."""
    return steps[: max(1, int(np.searchsorted(np.cumsum(sizes), MOST, side="right")))]


def _rectangles(axes: Axes, spans: Sequence[tuple[int, float, float]], colour: str, alpha: float) -> None:
    """Draw spans as one shape, so that thousands of them take little room."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not spans:
        return
    k, begin, end = np.array(spans, float).T
    low, high = k - 0.4, k + 0.4
    corners = np.stack([np.stack(each, -1) for each in ((begin, low), (end, low), (end, high), (begin, high))], 1)
    shape = Path.make_compound_path_from_polys(corners)
    axes.add_patch(PathPatch(shape, facecolor=colour, edgecolor=colour, linewidth=0.4, alpha=alpha))
