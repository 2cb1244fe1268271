"""The ordering of node classification, where training nodes fill the first partitions (Waleffe et al., EuroSys 2023, section 5).

Where these partitions fit the buffer, they stay resident for the whole epoch, with other partitions that each epoch draws anew.
Nothing is swapped inside an epoch. Where they do not fit, they take turns. Each is a target of one step, which trains its nodes,
beside partitions drawn at random.
"""

from __future__ import annotations

import numpy as np

Turns = list[tuple[tuple[int, ...], tuple[int, ...]]]


def order(partitions: int, capacity: int, training: int, rng: np.random.Generator) -> Turns:
    """Return (resident, targets) of each step. Each of the first ``training`` partitions is a target once."""
    if training <= capacity:
        others = training + rng.permutation(partitions - training)[: capacity - training]
        return [((*range(training), *others.tolist()), tuple(range(training)))]
    led = max(1, capacity // 2)
    turns: Turns = []
    queue = rng.permutation(training)
    for start in range(0, training, led):
        targets = queue[start : start + led]
        others = rng.permutation(np.setdiff1d(np.arange(partitions), targets))[: capacity - len(targets)]
        turns.append(((*targets.tolist(), *others.tolist()), tuple(sorted(targets.tolist()))))
    return turns
