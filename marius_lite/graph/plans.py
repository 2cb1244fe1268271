"""Make the plans of a run's epochs, from a resolved configuration and a dataset."""

from __future__ import annotations

from collections.abc import Callable

from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.types import EpochPlan


def plans_of(dataset: Dataset, config: Config) -> Callable[[int], EpochPlan]:
    """Return a function that gives the plan of an epoch. The trainer, `plan` and what opens a device call the same one."""
    planning, partitions = planning_of(config), dataset.partitioning.partitions
    training = dataset.manifest.training_partitions or 1
    return lambda epoch: planning.plan(config, partitions, training, epoch)
