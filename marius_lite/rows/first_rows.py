"""Make the rows that a run begins with."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from marius_lite.config.model_sections import DrawSection
from marius_lite.config.schema import Config
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.popularity import popularity
from marius_lite.nn.biases import SIDES, first_biases
from marius_lite.nn.decoders import Draw, decoder_class
from marius_lite.seeds import generator_for
from marius_lite.storage.bfloat16 import as_stored
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.fill import each_adopted

INITIAL_BLOCK = 1 << 16


class RowsToFill(Protocol):
    """Values for the records of partitions."""

    def fill(self, k: int, rows: npt.NDArray[Any]) -> None:
        """Set numbers in the records of partition k's nodes, (size, width) as they are stored."""


def initialise(
    buffer: PartitionBuffer,
    config: Config,
    edges: EdgeBuckets | None = None,
    mixed: RowsToFill | None = None,
    before: RowsToFill | None = None,
) -> dict[int, int]:
    """Make the first rows of every partition, in the buffer. Returns the checksums of the files by partition.

    ``edges``: the training edges. Biases begin with the popularity that nodes have there; without edges they are drawn too.
    ``mixed``: values that take the place of what is drawn. ``before``: the rows of an older version, which take that of both.
    """
    partitions, dim = buffer.table.partitions, config.model.dim
    draw = draw_of(config.init.nodes, decoder_class(config.model.decoder).node_draw(dim))
    for k in each_adopted(buffer, partitions, buffer.slots):
        rows = buffer.resident.view(k)
        generator = generator_for(config.training.seed, "nodes", worker=k)
        for start in range(0, len(rows), INITIAL_BLOCK):
            part = rows[start : start + INITIAL_BLOCK]
            part[:, :dim] = as_stored(draw(generator, len(part), dim), rows.dtype)
        if mixed is not None:
            mixed.fill(k, rows)
        if config.has_biases and edges:
            biases = first_biases(popularity(edges, k), edges.total / edges.partitioning.nodes)
            rows[:, dim - SIDES : dim] = as_stored(biases, rows.dtype).T
        if before is not None:
            before.fill(k, rows)
    return buffer.flush()


def draw_of(settings: DrawSection, usual: Draw) -> Draw:
    """Return the ``usual`` draw, that of the decoder's authors, changed as the ``settings`` ask."""
    return usual.changed(None if settings.kind == "auto" else settings.kind, None if settings.scale == "auto" else settings.scale)
