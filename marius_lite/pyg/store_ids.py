"""What nodes are called where PyTorch Geometric's own loaders read a dataset: they count nodes from 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite.config import machine
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.pyg.raw_ids import RawIds
from marius_lite.sizes import format_bytes, parse_bytes

Ids = npt.NDArray[np.int64]
NODE_BYTES = 24
"""What `StoreIds` takes for a node."""


class StoreIds:
    """Numbers 0 to nodes - 1 in the order of raw ids, so that they are the raw ids where these are the rows of a file.

    Raw ids that are no integers have no such order: the numbers are then node ids. ``nodes``: the node id of each number,
    int64 (nodes,). ``places``: the number of each node id, int64 (nodes,).
    """

    def __init__(self, dataset: Dataset):
        self._path, self._raw = dataset.path, RawIds(dataset)
        self.nodes: Ids = self._raw.ascending()
        self.places: Ids = np.empty_like(self.nodes)
        self.places[self.nodes] = np.arange(len(self.nodes))

    def __len__(self) -> int:
        return len(self.nodes)

    def of(self, named: Tensor | npt.NDArray[Any] | Sequence[Any]) -> Tensor:
        """Return the numbers of nodes, int64 (n,), given their raw ids. Raises UserError for one that no node has."""
        return torch.from_numpy(self.places[self._raw.nodes(named, "nodes")])

    def names(self, numbers: Tensor) -> list[Any]:
        """Return the raw ids of nodes, given their numbers, such as a batch's ``n_id``."""
        return self._raw.names(self._raw.of(self.node_ids(numbers.cpu().numpy())).numpy())

    def node_ids(self, numbers: npt.NDArray[np.integer]) -> Ids:
        """Return the node ids of numbers. Raises UserError for a number that no node has."""
        outside = np.flatnonzero((numbers < 0) | (numbers >= len(self)))[:1]
        if len(outside):
            (entry,) = outside
            raise UserError(
                f"{self._path}: found node {numbers[entry]} (entry {entry}): a store has nodes 0 to {len(self) - 1:,}"
            )
        found: Ids = self.nodes[numbers]
        return found


def require_memory(dataset: Dataset, memory: int | str, needs: dict[str, int]) -> int:
    """Return the bytes that ``memory`` says, auto: half of what is free. Raises UserError unless the ``needs``, by name, fit."""
    try:
        given = machine.available_memory() // 2 if memory == "auto" else parse_bytes(memory)
    except ValueError:
        raise UserError(f"memory: {memory!r}: give bytes, such as 4GB, or auto") from None
    needed = sum(needs.values())
    if needed > given:
        parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in needs.items())
        raise UserError(
            f"memory: {format_bytes(given)} are given, {dataset.path} needs {format_bytes(needed)}: {parts}: give more, or use "
            "marius_lite.pyg.NeighborLoader, which needs less"
        )
    return given
