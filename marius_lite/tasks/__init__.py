"""What runs can learn, by the name in the configuration: a task is a module and a line here."""

from marius_lite.config.schema import Config
from marius_lite.tasks.link_prediction import LinkPrediction
from marius_lite.tasks.node_classification import NodeClassification
from marius_lite.tasks.task import Task

TASKS: dict[str, Task] = {
    "link_prediction": LinkPrediction(),
    "node_classification": NodeClassification(),
}


def task_of(config: Config) -> Task:
    return TASKS[config.task]
