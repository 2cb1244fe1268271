"""One layer of an encoder over all nodes: what it reads, and where its rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.errors import UserError
from marius_lite.evaluate.layer_lists import LayerLists
from marius_lite.evaluate.layer_rows import LayerRows, RowsInMemory, RowsOnDisk, Write
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.encoders import Layered
from marius_lite.sizes import format_bytes
from marius_lite.storage.table import SPAN_BYTES

READ_BYTES = 2 * SPAN_BYTES
"""Bytes that reading rows takes beside the rows."""
IN_MEMORY_SHARE = 0.5
"""The share of the memory that rows of whole layers may take. A row in memory is read once, not by each pass that needs it."""


def room(path: Path, partitioning: Partitioning, width: int, used: int, memory: int) -> LayerRows:
    """Make room for the rows of a layer: in memory where they fit beside ``used`` bytes, else in a table at ``path``."""
    if used + partitioning.nodes * width * 4 <= memory * IN_MEMORY_SHARE:
        return RowsInMemory(partitioning, width)
    path.parent.mkdir(parents=True, exist_ok=True)
    return RowsOnDisk(path, partitioning, width)


@dataclass
class LayerPass(ABC):
    """One layer over the nodes of ``lists``. ``before``: the rows of its input. ``after``: where its results go, mapped first by
    the next layer where `Layered.early` makes them narrower. ``memory``: bytes, also for the rows of both that are in memory.
    ``degrees``: of the nodes ``before``, where the encoder asks for them."""

    encoder: Layered
    layer: int
    before: LayerRows
    after: LayerRows
    lists: LayerLists
    memory: int
    degrees: npt.NDArray[np.float32] | None

    def __post_init__(self) -> None:
        self._device = next(self.encoder.parameters()).device
        size = self.lists.before.places.nodes * self.before.width * 4
        if isinstance(self.before, RowsOnDisk) and self.after.memory_bytes + size <= self.memory * IN_MEMORY_SHARE:
            self.before = self.before.in_memory()
        self.memory -= self.before.memory_bytes + self.after.memory_bytes

    @abstractmethod
    def run(self) -> None:
        """Compute the layer for these nodes, and write the rows ``after``. Raises UserError where one node does not fit."""

    def writing(self) -> InOrder:
        """Open the writer of the results, which takes them in order."""
        return InOrder(self.after, self.lists.of.places)

    def result(self, rows: torch.Tensor) -> npt.NDArray[np.float32]:
        """Return the layer's results (n, width) as they are kept."""
        kept: npt.NDArray[np.float32] = narrowed(self.encoder, self.layer + 1, rows).cpu().numpy()
        return kept

    def too_large(self, what: str, needed: int) -> UserError:
        """Return the error for edges that do not fit. ``what``: which."""
        return UserError(
            f"storage.memory: layer {self.layer + 1} of the encoder over {what} needs "
            f"{format_bytes(needed)}, {format_bytes(self.memory)} are left for it: give more storage.memory, or make more "
            "partitions"
        )


def narrowed(encoder: Layered, layer: int, rows: torch.Tensor) -> torch.Tensor:
    """Return rows (n, width) as a layer keeps them: whole, or mapped by `Layered.early` where that makes them narrower."""
    if layer == len(encoder.widths) or encoder.early_width(layer) is None:
        return rows
    return encoder.early(layer, rows)


class InOrder:
    """Writes rows of all nodes in order, some at a time, to partition after partition."""

    def __init__(self, rows: LayerRows, partitioning: Partitioning):
        self._rows, self._partitioning, self._stack = rows, partitioning, ExitStack()
        self._k, self._left = -1, 0
        self._write: Write

    def __enter__(self) -> InOrder:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def __call__(self, rows: npt.NDArray[np.float32]) -> None:
        while len(rows):
            if not self._left:
                self._stack.close()
                self._k += 1
                self._left = self._partitioning.size(self._k)
                self._write = self._stack.enter_context(self._rows.writing(self._k))
            self._write(rows[: self._left])
            rows, self._left = rows[self._left :], self._left - len(rows[: self._left])
