"""The graphs of `made_up.py` that are too large for presets of small ones: 120,000 nodes. They run where they are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from made_up_nodes import Nodes, classed
from made_up_profiles import profiles

NODES = 120_000


def bare(seed: int) -> Nodes:
    """Nodes have classes, and no features."""
    graph = classed(seed, nodes=NODES, same=0.6)
    return replace(graph, x=np.zeros((NODES, 0), np.float32))


LARGE: dict[str, Callable[[int], Nodes]] = {
    "large-weak": lambda seed: classed(seed, nodes=NODES, signal=1.0),
    "large-weaker": lambda seed: classed(seed, nodes=NODES, signal=0.5, train=0.01),
    "large-one-way": lambda seed: replace(classed(seed, nodes=NODES, signal=1.0), one_way=True),
    "large-any-class": lambda seed: classed(seed, nodes=NODES, signal=2.0, same=0.0),
    "large-profiles": lambda seed: profiles(seed, NODES),
    "large-bare": bare,
}
