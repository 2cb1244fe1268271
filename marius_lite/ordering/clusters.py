"""The ordering of cluster batches: each epoch deals the partitions anew, at random, into groups (Chiang et al., KDD 2019).

A group is resident for one step, which trains the training nodes of all its partitions. The paper's "stochastic multiple
partitions" are such a group.
"""

from __future__ import annotations

import numpy as np

from marius_lite.ordering.node_classification import Turns


def order(partitions: int, capacity: int, training: int, rng: np.random.Generator) -> Turns:
    """Return (resident, targets) of each step. Each of the first ``training`` partitions is a target once.

    Groups have ``capacity`` partitions at most, and differ by one. Those without training nodes are left out.
    """
    groups = np.array_split(rng.permutation(partitions), -(-partitions // capacity))
    steps = [(tuple(group.tolist()), tuple(np.sort(group[group < training]).tolist())) for group in groups]
    return [(resident, targets) for resident, targets in steps if targets]
