"""Orders for classifying nodes whose training nodes fill the first partitions (Waleffe et al., EuroSys 2023, section 5).

Where these partitions fit the buffer they stay resident for the whole epoch, together with others drawn afresh each epoch: no
swap inside an epoch. Where they do not, they take turns: every training node is trained in the one step that its partition
leads, beside partitions drawn at random.
"""

from __future__ import annotations

import numpy as np

Turns = list[tuple[tuple[int, ...], tuple[int, ...]]]


def order(partitions: int, capacity: int, training: int, rng: np.random.Generator) -> Turns:
    """(resident, targets) of each step: every one of the first ``training`` partitions is a target once."""
    if training <= capacity:
        others = training + rng.permutation(partitions - training)[: capacity - training]
        return [((*range(training), *others.tolist()), tuple(range(training)))]
    led = max(1, capacity // 2)
    turns: Turns = []
    queue = rng.permutation(training)
    for start in range(0, training, led):
        targets = queue[start:start + led]
        others = rng.permutation(np.setdiff1d(np.arange(partitions), targets))[: capacity - len(targets)]
        turns.append(((*targets.tolist(), *others.tolist()), tuple(sorted(targets.tolist()))))
    return turns
