"""The tasks by name: a new one is a file and a line here.

``planning``: what a task needs, without torch (`config.planning.Planning`). ``task``: what it does (`tasks.task.Task`). Each is
package.module:Class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from marius_lite.places import at_place


class TaskPlaces(NamedTuple):
    planning: str
    task: str


TASKS: dict[str, TaskPlaces] = {
    "link_prediction": TaskPlaces("marius_lite.config.link_planning:LinkPlanning",
                                  "marius_lite.tasks.link_prediction:LinkPrediction"),
    "node_classification": TaskPlaces("marius_lite.config.node_planning:NodePlanning",
                                      "marius_lite.tasks.node_classification:NodeClassification"),
}


class NamesOfTasks:
    """The names that the plannings of all tasks have in an attribute, in order, each once."""

    def __init__(self, attribute: str):
        self._attribute = attribute

    def __iter__(self) -> Iterator[str]:
        plannings = (at_place(each.planning) for each in TASKS.values())
        return iter(dict.fromkeys(name for planning in plannings for name in getattr(planning, self._attribute)))
