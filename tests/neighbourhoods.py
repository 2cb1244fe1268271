"""Random multigraphs, and sampled neighbourhoods of them by plain Python."""

from dataclasses import dataclass

import numpy as np
import torch

from marius_lite.nn.encoders import LayerGraph


@dataclass
class Graph:
    """``edges``: (2, e) int64, source and target, targets ascending; ``rel``: (e,) int64."""

    nodes: int
    edges: np.ndarray
    rel: np.ndarray

    @classmethod
    def random(cls, rng, nodes, edges, relations=1, loops=True):
        ends = rng.integers(0, nodes, (2, edges)) if nodes else np.zeros((2, 0), np.int64)
        if not loops:
            ends = ends[:, ends[0] != ends[1]]
        ends = ends[:, np.lexsort(ends)]
        return cls(nodes, ends, rng.integers(0, relations, ends.shape[1]))

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
        """In-degrees, loops left out."""
        others = self.edges[1][self.edges[0] != self.edges[1]]
        return torch.from_numpy(np.bincount(others, minlength=self.nodes).astype(np.float32))

    def sample(self, seeds, fanouts, rng=None, dtype=torch.int32):
        """(nodes, LayerGraph): -1 takes all neighbours, any other fanout that many without replacement."""
        nodes, local = list(seeds), {node: i for i, node in enumerate(seeds)}
        hop_nodes, hop_edges, indptr, indices, rel = [len(nodes)], [], [0], [], []
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
                    rel.append(int(self.rel[edge]))
                indptr.append(len(indices))
            hop_edges.append(len(indices) - sum(hop_edges))
            hop_nodes.append(len(nodes) - stop)
            start = stop
        nodes = torch.tensor(nodes, dtype=torch.int64)
        return nodes, LayerGraph(
            tuple(hop_nodes),
            torch.tensor(indptr),
            torch.tensor(indices, dtype=dtype),
            torch.tensor(rel),
            self.degrees[nodes],
            tuple(hop_edges),
        )
