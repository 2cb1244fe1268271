"""List the tasks by name. A new task is its files and a line here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from marius_lite.places import at_place


class TaskPlaces(NamedTuple):
    """Where a task's two classes are, each as package.module:Class.

    ``planning``: what the task needs (`config.planning.Planning`); it does not load torch. ``task``: what it does
    (`tasks.task.Task`).
    """

    planning: str
    task: str


TASKS: dict[str, TaskPlaces] = {
    "link_prediction": TaskPlaces(
        "marius_lite.config.link_planning:LinkPlanning", "marius_lite.tasks.link_prediction:LinkPrediction"
    ),
    "node_classification": TaskPlaces(
        "marius_lite.config.node_planning:NodePlanning", "marius_lite.tasks.node_classification:NodeClassification"
    ),
}


class NamesOfTasks:
    """The names in one attribute of all tasks' plannings, in order, each once."""

    def __init__(self, attribute: str):
        self._attribute = attribute

    def __iter__(self) -> Iterator[str]:
        plannings = (at_place(each.planning) for each in TASKS.values())
        return iter(dict.fromkeys(name for planning in plannings for name in getattr(planning, self._attribute)))
