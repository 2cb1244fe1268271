"""Random multigraphs, sampled neighbourhoods of them by plain Python, and sums by definition."""

from dataclasses import dataclass

import numpy as np
import torch

from marius_lite.nn.encoders import LayerGraph


@dataclass
class Graph:
    """``edges``: (2, e) int64, source and target, targets ascending; ``rel``: (e,) int64; ``factors``: (e,) float32 or None."""

    nodes: int
    edges: np.ndarray
    rel: np.ndarray
    factors: np.ndarray | None = None

    @classmethod
    def random(cls, rng, nodes, edges, relations=1, loops=True, weighs=False):
        ends = rng.integers(0, nodes, (2, edges)) if nodes else np.zeros((2, 0), np.int64)
        if not loops:
            ends = ends[:, ends[0] != ends[1]]
        ends = ends[:, np.lexsort(ends)]
        factors = rng.uniform(0, 3, ends.shape[1]) * (rng.random(ends.shape[1]) < 0.7) if weighs else None
        return cls(
            nodes, ends, rng.integers(0, relations, ends.shape[1]), None if factors is None else factors.astype(np.float32)
        )

    @property
    def edge_index(self):
        return torch.from_numpy(self.edges)

    @property
    def edge_type(self):
        return torch.from_numpy(self.rel)

    @property
    def indptr(self):
        return np.searchsorted(self.edges[1], np.arange(self.nodes + 1))

    @property
    def degrees(self):
        """In-degrees, or sums of factors, loops left out."""
        others = self.edges[0] != self.edges[1]
        factors = None if self.factors is None else self.factors[others]
        return torch.from_numpy(np.bincount(self.edges[1][others], factors, self.nodes).astype(np.float32))

    def sample(self, seeds, fanouts, rng=None, dtype=torch.int32):
        """(nodes, LayerGraph): -1 takes all neighbours, any other fanout that many without replacement."""
        nodes, local = list(seeds), {node: i for i, node in enumerate(seeds)}
        hop_nodes, hop_edges, indptr, indices, edges = [len(nodes)], [], [0], [], []
        start = 0
        for fanout in fanouts:
            stop = len(nodes)
            for node in nodes[start:stop]:
                around = np.arange(self.indptr[node], self.indptr[node + 1])
                if fanout >= 0 and len(around) > fanout:
                    around = rng.choice(around, fanout, replace=False)
                for edge in around:
                    source = int(self.edges[0][edge])
                    if source not in local:
                        local[source] = len(nodes)
                        nodes.append(source)
                    indices.append(local[source])
                    edges.append(edge)
                indptr.append(len(indices))
            hop_edges.append(len(indices) - sum(hop_edges))
            hop_nodes.append(len(nodes) - stop)
            start = stop
        nodes = torch.tensor(nodes, dtype=torch.int64)
        return nodes, LayerGraph(
            tuple(hop_nodes),
            torch.tensor(indptr),
            torch.tensor(indices, dtype=dtype),
            torch.from_numpy(self.rel[np.array(edges, int)]),
            self.degrees[nodes],
            tuple(hop_edges),
            None if self.factors is None else torch.from_numpy(self.factors[np.array(edges, int)]),
        )


def random_lists(seed, targets, sources, edges, dtype=torch.int64):
    """(indptr, indices) of random edges; none where there are no targets or sources."""
    rng = np.random.default_rng(seed)
    edges = edges if targets and sources else 0
    indptr = np.searchsorted(np.sort(rng.integers(0, max(targets, 1), edges)), np.arange(targets + 1))
    indices = rng.integers(0, max(sources, 1), edges)
    return torch.from_numpy(indptr), torch.from_numpy(indices).to(dtype)


def by_definition(x, indptr, indices, weights, mean, own=None):
    """The sums of `neighbour_sum`, from an array of a row for each edge."""
    rows = x[indices.long()] * (1 if weights is None else weights.double().unsqueeze(1))
    counts = indptr.diff()
    out = x.new_zeros(len(counts), x.shape[1]).index_add(0, torch.repeat_interleave(counts), rows)
    out = out / counts.clamp(min=1).unsqueeze(1) if mean else out
    return out if own is None else out + own.double().unsqueeze(1) * x[: len(counts)]
