"""What the layers of an encoder are worked out from: features and in-edges, read by partition."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class RowsOfPartition(Protocol):
    """The nodes' features, read by partition."""

    def read(self, k: int) -> npt.NDArray[Any]:
        """Return the rows of partition k's nodes, (size, width)."""


class ListsOfPartition(Protocol):
    """The part of `marius_lite.graph.adjacency.PartitionLists` that inference uses."""

    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...
    @property
    def sources(self) -> npt.NDArray[Any]: ...
    @property
    def rel(self) -> npt.NDArray[Any] | None: ...
    @property
    def factors(self) -> npt.NDArray[np.float32] | None: ...


class InEdgeReader(Protocol):
    """In-edges, read by partition of their destinations. ``weighs``: whether they have factors."""

    @property
    def weighs(self) -> bool: ...

    def read(self, k: int, *, relations: bool = True) -> ListsOfPartition: ...
    def edges(self, k: int) -> int:
        """Return how many in-edges partition k's nodes have."""
