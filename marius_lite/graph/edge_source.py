"""Say what reads of a split's edges, from wherever they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.graph.edges import EdgePiece
from marius_lite.graph.partitioning import Partitioning


class EdgeSource(Protocol):
    """The part of `marius_lite.graph.edges.EdgeBuckets` that an evaluation uses."""

    partitioning: Partitioning

    @property
    def counts(self) -> npt.NDArray[np.int64]: ...

    @property
    def total(self) -> int: ...

    def block(self, rows: range, columns: range, edges: int, names: Sequence[str]) -> Iterator[EdgePiece]:
        """Read the columns ``names`` of buckets (i, j), i in ``rows``, j in ``columns``, row after row, ``edges`` at a time."""
