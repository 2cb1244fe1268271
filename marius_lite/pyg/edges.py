"""The edges of a batch, in PyTorch Geometric's form: those sampled, these in both directions, or all among its nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite._native import list_edges
from marius_lite.sampling.neighbours import NeighbourLists, NeighbourSample


@dataclass(frozen=True, slots=True)
class BatchEdges:
    """``index``: (2, edges) places in the batch, from source to target. ``types``: (edges,), None where there is one relation."""

    index: Tensor
    types: Tensor | None


def sampled_edges(sample: NeighbourSample) -> BatchEdges:
    """Return the edges that were sampled, hop after hop."""
    return _edges(sample.indptr, sample.indices, sample.rel)


def both_ways(sample: NeighbourSample) -> BatchEdges:
    """Return the sampled edges in both directions, each once, in order."""
    sampled = sampled_edges(sample)
    ends, types = sampled.index, sampled.types
    columns = [ends] if types is None else [ends, types[None]]
    back = [ends.flip(0), *columns[1:]]
    both = torch.unique(torch.cat([torch.cat(columns), torch.cat(back)], 1), dim=1)
    return BatchEdges(both[:2], None if types is None else both[2])


def induced_edges(
    sample: NeighbourSample, lists: NeighbourLists, trees: npt.NDArray[np.int32] | None, threads: int
) -> BatchEdges:
    """Return all edges among the sampled nodes, those of one tree, in order of their targets."""
    return _edges(*lists.edges_among(sample.nodes, trees, threads))


def _edges(indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], rel: npt.NDArray[np.uint32] | None) -> BatchEdges:
    index = np.empty((2, len(indices)), np.int64)
    list_edges(indptr, indices, index)
    return BatchEdges(torch.from_numpy(index), None if rel is None else torch.from_numpy(rel.astype(np.int64)))
