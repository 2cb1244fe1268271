"""First rows that say where nodes are in the graph: drawn rows, mixed with those of their neighbours some times.

Each hop replaces a node's row by the mean of its neighbours', as a random walk would. So rows become random projections of where
walks from a node end, and nodes alike in that begin alike (FastRP: Chen et al., CIKM 2019). Without it, the row of a node that no
training node meets stays as it was drawn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite.config.schema import Config
from marius_lite.encode.vectors import SCRATCH, inference_bytes
from marius_lite.evaluate.inference import infer
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.first_hops import at_length_one
from marius_lite.graph.inputs import lists_by_turns, lists_read
from marius_lite.graph.partitioning import Partitioning
from marius_lite.log import log
from marius_lite.nn.aggregate import neighbour_sum
from marius_lite.nn.allocator import give_back
from marius_lite.nn.encoders.base import Block, Layered
from marius_lite.seeds import generator_for
from marius_lite.storage.bfloat16 import as_stored
from marius_lite.storage.table import RowTable
from marius_lite.temporary import scratch

PART_BYTES = 4 << 20
"""Bytes of rows that are read at a time."""
TINY = torch.finfo(torch.float32).tiny
SAME = 1e-4
"""How far a row of length 1 must be from the mean to say something. Sums of float32 differ by less."""


class _Walk(Layered):
    """A hop in each layer: the mean of a node's neighbours, or its own row where it has none."""

    degrees = False

    def __init__(self, dim: int, hops: int):
        super().__init__()
        self.in_width, self.widths = dim, (dim,) * hops
        self.nothing = torch.nn.Parameter(torch.empty(0))  # says where this is computed

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        counted = torch.cat([x, x.new_ones(len(x), 1)], 1)
        sums = neighbour_sum(counted, block.indptr, block.indices, block.factors)
        return self.combined(layer, sums[:, :-1] / sums[:, -1:].clamp(min=TINY), x[: block.targets])

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        return 4 * (self.in_width + 1) * (3 * targets + sources) + 24 * edges

    def summed_width(self, layer: int) -> int | None:
        return self.in_width

    def combined(self, layer: int, sums: Tensor, rows: Tensor) -> Tensor:
        return torch.where(sums.any(1, keepdim=True), sums, rows)


class _TurnedWalk(_Walk):
    """The same, where half of the numbers follow in-edges in the first layer, out-edges in the second, and so on, and the others
    out-edges first. ``relations``: edges as they are have relations below it, turned ones others."""

    def __init__(self, dim: int, hops: int, relations: int):
        super().__init__(dim, hops)
        self.relations = relations

    def layer(self, layer: int, x: Tensor, block: Block) -> Tensor:
        assert block.rel is not None
        as_they_are, halves = block.rel < self.relations, list[Tensor]()
        for half, rows in enumerate(x.tensor_split(2, 1)):
            counted = as_they_are if (layer + half) % 2 == 0 else ~as_they_are
            halves.append(super().layer(layer, rows, dataclasses.replace(block, factors=counted.to(x.dtype))))
        return torch.cat(halves, 1)

    def layer_bytes(self, layer: int, targets: int, sources: int, edges: int) -> int:
        return super().layer_bytes(layer, targets, sources, edges) + 4 * self.in_width * targets + 8 * edges

    def summed_width(self, layer: int) -> int | None:
        return None


@dataclass(frozen=True)
class _DrawnRows:
    """Rows from the normal distribution, read by partition."""

    partitioning: Partitioning
    dim: int
    seed: int

    def read(self, k: int) -> npt.NDArray[np.float32]:
        generator = generator_for(self.seed, "mixed", worker=k)
        return generator.standard_normal((self.partitioning.size(k), self.dim), np.float32)


@dataclass(frozen=True)
class MixedRows:
    """Mixed rows, in ``table``. ``mean``: of all of them, each at length 1, float32 (dim,)."""

    table: RowTable
    mean: npt.NDArray[np.float32]

    def fill(self, k: int, rows: npt.NDArray[Any]) -> None:
        """Set the first numbers of the records of partition k's nodes: about 1, as far as a node is unlike the average one.

        A row that says nothing, because all nodes are alike, stays. Raises RunError for a damaged table.
        """
        dim = len(self.mean)
        for first, mixed in self.table.node_blocks(k, PART_BYTES):
            apart = at_length_one(mixed[:, :dim]) - self.mean
            tells = np.linalg.norm(apart, axis=1) > SAME
            values = at_length_one(apart) * np.float32(dim**0.5)
            part = rows[first : first + len(values), :dim]
            part[tells] = as_stored(values[tells], rows.dtype)


@contextmanager
def mixed_rows(dataset: Dataset, config: Config, folder: Path) -> Iterator[MixedRows | None]:
    """Mix first rows over ``config.init.hops`` hops, out of core; None where there are no hops.

    They lie in a scratch folder inside ``folder`` meanwhile. Raises UserError where the disk or the memory is too small.
    """
    hops, dim = config.init.hops, config.model.dim
    assert isinstance(hops, int)
    if not hops:
        yield None
        return
    turns = "" if not config.init.by_turns else ", along edges and against them by turns (`init.by_turns`)"
    log.info(f"first rows: drawn, then {hops} times the mean of neighbours' (`init.hops`){turns}")
    relations, partitioning = dataset.manifest.relations, dataset.partitioning
    lists = lists_by_turns(dataset) if config.init.by_turns else lists_read(dataset, config)
    walk = _TurnedWalk(dim, hops, relations) if config.init.by_turns else _Walk(dim, hops)
    assert lists is not None
    drawn = _DrawnRows(partitioning, dim, config.training.seed)
    with scratch(folder, SCRATCH) as place:
        table = infer(walk, drawn, lists, partitioning, inference_bytes(config), place / "rows")
        yield MixedRows(table, _mean(table, dim))
    give_back()  # what follows is trained in buffers of its own


def _mean(table: RowTable, dim: int) -> npt.NDArray[np.float32]:
    total = np.zeros(dim)
    for k in range(table.partitions):
        for _, rows in table.node_blocks(k, PART_BYTES):
            total += at_length_one(rows[:, :dim]).sum(0, dtype=np.float64)
    return (total / max(1, table.nodes)).astype(np.float32)
