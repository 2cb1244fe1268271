"""Pictures of plans: which partitions the buffer holds at each step, and the step at which each bucket is trained."""

from __future__ import annotations

from marius_lite.ordering import make_node_plan, make_plan
from marius_lite.types import EpochPlan

PARTITIONS, CAPACITY, SEED = 8, 4, 0
CELL, LEFT, TOP = 22, 70, 30
GRAY, STAYS, LOADED = "#8a8f98", "#7c9bd6", "#e0953f"


def all_of_them() -> dict[str, str]:
    """The pictures by name."""
    beta = make_plan("beta", PARTITIONS, CAPACITY, SEED, 0)
    comet = make_plan("comet", PARTITIONS, CAPACITY, SEED, 0)
    nodes = make_node_plan("node_classification", PARTITIONS, CAPACITY, 2, SEED, 0)
    clusters = make_node_plan("clusters", PARTITIONS, 2, 2, SEED, 0)
    return {
        "beta-buffer": buffer(beta),
        "beta-buckets": buckets(beta),
        "comet-buffer": buffer(comet),
        "comet-buckets": buckets(comet),
        "nodes-buffer": buffer(nodes),
        "clusters-buffer": buffer(clusters),
    }


def loads(plan: EpochPlan) -> int:
    return sum(len(step.load) for step in plan.steps)


def buffer(plan: EpochPlan) -> str:
    """A row for each step, a column for each partition."""
    parts = [words(LEFT, 12, f"{plan.ordering}: {plan.partitions} partitions, {plan.capacity} in memory, {loads(plan)} loads")]
    parts += [words(LEFT + p * CELL + 7, TOP - 4, str(p)) for p in range(plan.partitions)]
    for step in plan.steps:
        y = TOP + step.index * CELL
        parts.append(words(4, y + 15, f"step {step.index}"))
        for p in range(plan.partitions):
            colour = "none" if p not in step.resident else LOADED if p in step.load else STAYS
            parts.append(square(LEFT + p * CELL, y, colour))
    below = TOP + len(plan.steps) * CELL + 8
    for place, (colour, what) in enumerate([(LOADED, "loaded for this step"), (STAYS, "stays")]):
        parts += [square(LEFT + place * 170, below, colour), words(LEFT + 28 + place * 170, below + 15, what)]
    return drawing(max(LEFT + plan.partitions * CELL, LEFT + 300), below + CELL + 4, parts)


def buckets(plan: EpochPlan) -> str:
    """A square for each bucket (source partition, destination partition), with the step at which it is trained."""
    parts = [words(LEFT, 12, f"{plan.ordering}: the step at which each bucket is trained")]
    parts += [words(LEFT + p * CELL + 7, TOP - 4, str(p)) for p in range(plan.partitions)]
    parts += [words(4, TOP + p * CELL + 15, f"from {p}") for p in range(plan.partitions)]
    for step in plan.steps:
        hue = round(300 * step.index / max(1, len(plan.steps) - 1))
        for source, destination in step.buckets:
            x, y = LEFT + destination * CELL, TOP + source * CELL
            parts += [square(x, y, f"hsl({hue} 45% 62%)"), words(x + 4, y + 15, str(step.index), "#111")]
    return drawing(LEFT + 300, TOP + plan.partitions * CELL + 4, parts)


def square(x: int, y: int, colour: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="{CELL - 2}" rx="3" fill="{colour}" stroke="{GRAY}"/>'


def words(x: int, y: int, text: str, colour: str = GRAY) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" font-family="sans-serif" font-size="12">{text}</text>'


def drawing(width: int, height: int, parts: list[str]) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">{"".join(parts)}</svg>\n'
