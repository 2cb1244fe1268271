"""The tasks that a run can learn. A task is a module, and a line in `config.tasks.TASKS`."""

from marius_lite.config.schema import Config
from marius_lite.config.tasks import TASKS
from marius_lite.places import at_place
from marius_lite.tasks.task import Task


def task_of(config: Config) -> Task:
    """Return the task that a configuration names."""
    task: Task = at_place(TASKS[config.task].task)()
    return task
