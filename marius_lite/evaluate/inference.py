"""Compute an encoder's vectors of all nodes from all neighbours, layer by layer, out of core.

The results of a layer are the input of the next one. So every node is computed once in each layer, however much neighbourhoods
overlap. The results stay in memory where they fit, else they go to a table on disk. A layer that only sums its neighbours' rows
reads them in the order of their files (`summed_pass`); others take nodes in chunks (`chunked_pass`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.config.sizes import padded_width
from marius_lite.errors import UserError
from marius_lite.evaluate.chunked_pass import ChunkedPass
from marius_lite.evaluate.layer_inputs import InEdgeReader, RowsOfPartition
from marius_lite.evaluate.layer_lists import LayerLists
from marius_lite.evaluate.layer_pass import InOrder, LayerPass, narrowed, room
from marius_lite.evaluate.layer_rows import LayerRows, RowsOnDisk
from marius_lite.evaluate.reach import BYTES_A_NODE, Reach, reaches
from marius_lite.evaluate.summed_pass import SummedPass
from marius_lite.files import disk_error, remove_tree, require_space
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.encoders import Layered
from marius_lite.nn.inputs import Normalize, as_they_are
from marius_lite.storage.table import RowTable
from marius_lite.types import Ids

PART_BYTES = 8 << 20
"""Bytes of input rows that are written at a time."""


def infer(
    encoder: Layered,
    features: RowsOfPartition,
    adjacency: InEdgeReader,
    partitioning: Partitioning,
    memory: int,
    output: Path,
    degrees: npt.NDArray[np.float32] | None = None,
    normalize: Normalize = as_they_are,
) -> RowTable:
    """Write the encoder's vectors of all nodes to a new table at ``output``: float32, padded with zeros to 16-byte rows.

    ``degrees``: `true_degrees`, for an encoder that needs them. ``normalize``: makes the encoder's input of rows, some at a time,
    because it may make them much wider. ``memory``: bytes for everything but the degrees and the encoder.
    What does not fit goes to ``<output>.tmp``, which has the tables of two layers at a time. Returns the table, which is not
    synced. Raises UserError where ``output`` exists, the disk is too small, or the neighbours of one node do not fit in
    ``memory``.
    """
    return Inference(encoder, features, adjacency, partitioning, degrees, normalize).of_all(memory, output)


class SomeResults:
    """The vectors of some nodes, read by partition of the graph."""

    def __init__(self, rows: RowsOnDisk, of: Reach):
        self._rows, self._of = rows, of

    def read_rows(self, k: int, offsets: Ids, columns: slice) -> npt.NDArray[np.float32]:
        """Return columns of the vectors of partition k's nodes at ascending ``offsets``, all of which were wanted."""
        rows = np.empty((len(offsets), self._rows.width), np.float32)
        self._rows.read(self._of.places_of(offsets + self._of.partitioning.range(k).start), rows)
        return rows[:, columns]


@dataclass(frozen=True)
class Inference:
    """What vectors are worked out from. See `infer`."""

    encoder: Layered
    features: RowsOfPartition
    adjacency: InEdgeReader
    partitioning: Partitioning
    degrees: npt.NDArray[np.float32] | None = None
    normalize: Normalize = as_they_are

    def of_all(self, memory: int, output: Path) -> RowTable:
        """Do as `infer`."""
        every = [Reach(self.partitioning)] * (len(self.encoder.widths) + 1)
        return self.run(every, memory, output).table()

    def of_some(self, wanted: Ids, memory: int, output: Path) -> SomeResults:
        """Do as `infer`, but work out what the vectors of the ``wanted`` nodes, whose ids ascend, take, and no more.

        Vectors are those of `infer`, but for their last bits.
        """
        found = reaches(self.adjacency, self.partitioning, wanted, len(self.encoder.widths), memory)
        memory -= sum(reach.ids.nbytes for reach in found if reach.ids is not None)
        memory -= BYTES_A_NODE * self.partitioning.nodes if found[-1].ids is not None else 0
        return SomeResults(self.run(found, memory, output), found[-1])

    def run(self, found: Sequence[Reach], memory: int, output: Path) -> RowsOnDisk:
        """Work out each layer for the nodes that are ``found`` behind it. ``found``: those of the input, then of each layer."""
        if output.exists():
            raise UserError(f"{output}: exists already: choose another name, or remove it")
        encoder, scratch = self.encoder, output.with_name(output.name + ".tmp")
        remove_tree(scratch)
        _require_space(encoder, found, scratch)
        training = encoder.training
        try:
            encoder.eval()
            rows: LayerRows = room(scratch / "input", found[0].places, encoder.early_width(0) or encoder.in_width, 0, memory)
            self._fill(rows, found[0])
            for layer in range(len(encoder.widths) - 1):
                width = encoder.early_width(layer + 1) or encoder.widths[layer]
                after = room(scratch / f"layer-{layer}", found[layer + 1].places, width, rows.memory_bytes, memory)
                self._pass(layer, found, rows, after, memory)
                rows = after
            vectors = RowsOnDisk(output, found[-1].places, encoder.widths[-1])
            self._pass(len(encoder.widths) - 1, found, rows, vectors, memory)
            return vectors
        except BaseException as error:
            remove_tree(output)
            if isinstance(error, OSError):
                raise disk_error(error, scratch) from error
            raise
        finally:
            encoder.train(training)
            remove_tree(scratch)

    @torch.no_grad()
    def _fill(self, rows: LayerRows, found: Reach) -> None:
        """Write the features as the first layer keeps them."""
        encoder = self.encoder
        device, step = next(encoder.parameters()).device, max(1, PART_BYTES // (encoder.in_width * 4))
        with InOrder(rows, found.places) as write:
            for k in range(found.partitioning.partitions):
                if not found.count(k):
                    continue
                whole = self.features.read(k)
                wanted = whole if found.ids is None else whole[found.offsets(k)]
                for start in range(0, len(wanted), step):
                    stored = np.ascontiguousarray(wanted[start : start + step], dtype=np.float32)
                    part = self.normalize(torch.from_numpy(stored))[:, : encoder.in_width].contiguous()
                    write(narrowed(encoder, 0, part.to(device)).cpu().numpy())

    def _pass(self, layer: int, found: Sequence[Reach], rows: LayerRows, after: LayerRows, memory: int) -> None:
        """Work out a layer, and remove the rows before it."""
        kind, before, degrees = _pass_of(self.encoder, layer), found[layer], self.degrees
        lists = LayerLists(self.adjacency, before, found[layer + 1], loops=kind is ChunkedPass or degrees is None)
        own = degrees if degrees is None or before.ids is None else degrees[before.ids]
        kind(self.encoder, layer, rows, after, lists, memory, own).run()
        rows.remove()


def _pass_of(encoder: Layered, layer: int) -> type[LayerPass]:
    return ChunkedPass if encoder.summed_width(layer) is None else SummedPass


def _require_space(encoder: Layered, found: Sequence[Reach], path: Path) -> None:
    """Raise UserError unless the disk has room for the tables of two layers at a time, as if none stayed in memory."""
    widths = [encoder.early_width(layer) or width for layer, width in enumerate((encoder.in_width, *encoder.widths[:-1]))]
    widths.append(encoder.widths[-1])
    sizes = [
        padded_width(width, np.float32) * 4 * reach.places.rows * reach.places.partitions
        for width, reach in zip(widths, found, strict=True)
    ]
    require_space(path, max(map(sum, itertools.pairwise(sizes))), "the vectors of nodes, layer by layer,")
