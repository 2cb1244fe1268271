"""What in-edge lists hold, entry by entry."""

import numpy as np


def listed(dataset, lists, weights=False):
    """Each entry of the lists as (node, neighbour, relation, weight). Neighbours ascend."""
    found = []
    for k in range(dataset.partitioning.partitions):
        part = lists.read(k, weights, own_pages=k % 2 == 0)
        assert len(part.sources) == lists.edges(k) == lists.held[k]
        nodes = np.repeat(list(dataset.partitioning.range(k)), np.diff(part.indptr))
        assert (np.diff(part.sources.astype(int))[np.diff(nodes) == 0] >= 0).all()
        beside = [np.zeros(len(nodes)) if each is None else each for each in (part.rel, part.weights)]
        found += zip(nodes.tolist(), part.sources.tolist(), *map(np.ndarray.tolist, beside))
    return sorted(found)
