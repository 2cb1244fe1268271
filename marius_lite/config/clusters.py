"""Train on clusters (``training.method: cluster``): a batch is some partitions of the graph, with the edges among them.

Each step makes a random group of partitions resident, and trains all their training nodes as one batch. Its nodes take from all
their neighbours in the group, in every layer (Cluster-GCN, Chiang et al., KDD 2019). Nothing is sampled. So more layers reach no
further than the batch, and partitions with few edges between them lose little of their neighbourhoods.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.config.facts import Facts
from marius_lite.config.inputs import inputs_of
from marius_lite.config.planning import Rules
from marius_lite.config.schema import Config
from marius_lite.errors import UserError

ORDERING = "clusters"
BATCHES = 64
"""Batches of an epoch, where nothing else is said."""


def usual_group(partitions: int) -> int:
    """Return how many partitions make a batch where nothing is said."""
    return max(1, partitions // BATCHES)


def as_batches(config: Config, facts: Facts) -> Config:
    """Return the settings with what cluster batches make of them: all training nodes of a step are one batch.

    Raises UserError for nodes that learn from more than features.
    """
    if not config.trains_clusters:
        return config
    nodes = facts.nodes_to_classify
    assert nodes is not None
    if (inputs := inputs_of(config, facts)) != "features":
        raise UserError(
            f"`training.method` is cluster, but nodes begin with {inputs}: only features are trained on so far: preprocess with "
            "--features, and leave `model.inputs` out"
        )
    changes = {"training": {"batch_size": nodes.training}, "sampling": {"scope": "resident"}}
    sections = {name: getattr(config, name).model_copy(update=change) for name, change in changes.items()}
    return config.model_copy(update=sections)


def most_edges(bucket_counts: npt.NDArray[np.int64], capacity: int) -> int:
    """Return a bound on the edges among any ``capacity`` partitions. ``bucket_counts``: (p, p).

    Into a partition lead no more than from the partitions that most lead from; of these sums the largest are taken.
    """
    absent = len(bucket_counts) - capacity
    into = np.partition(bucket_counts, absent, axis=0)[absent:].sum(0)
    return int(np.sort(into)[absent:].sum())


def rules(config: Config) -> Rules:
    """Return the rules of settings for cluster batches."""
    if not config.trains_clusters:
        return []
    model, sampling, wanted = config.model, config.sampling, "`training.method` is cluster, but"
    all_taken = "all neighbours in a batch's partitions are taken"
    return [
        (config.task != "node_classification", f"{wanted} `task` is {config.task}: it trains classes of nodes alone"),
        (
            model.inputs not in ("auto", "features"),
            f"{wanted} `model.inputs` is {model.inputs}: only features are trained on so far, remove it",
        ),
        (
            sampling.scope == "exact",
            f"{wanted} `sampling.scope` is exact: a batch's nodes see the partitions of the batch alone, remove it",
        ),
        (sampling.lists == "disk", f"{wanted} `sampling.lists` is disk: lists come with a batch's partitions, remove it"),
        (sampling.weighted, f"{wanted} `sampling.weighted` is true: {all_taken}, set it to false"),
        (
            sampling.refresh_epochs > 1,
            f"{wanted} `sampling.refresh_epochs` is {sampling.refresh_epochs}: every epoch deals partitions anew, remove it",
        ),
    ]
