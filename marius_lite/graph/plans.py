"""Make the plans of a run's epochs, from a resolved configuration and a dataset."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.types import EpochPlan


def plans_of(dataset: Dataset, config: Config) -> Callable[[int], EpochPlan]:
    """Return a function that gives the plan of an epoch. The trainer, `plan` and what opens a device call the same one."""
    planning, counts = planning_of(config), dataset.edges("train").counts
    training = dataset.manifest.training_partitions or 1
    return lambda epoch: planning.plan(config, counts, training, epoch)


def absent_share(plan: EpochPlan, bucket_counts: npt.NDArray[np.int64]) -> float:
    """Return the share of the resident nodes' in-edges whose source is not resident, over an epoch's steps."""
    absent = total = 0
    for step in plan.steps:
        into = bucket_counts[:, list(step.resident)]
        total += int(into.sum())
        absent += int(into.sum() - into[list(step.resident)].sum())
    return absent / max(total, 1)
