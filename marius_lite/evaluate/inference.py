"""Compute an encoder's vectors of all nodes from all neighbours, layer by layer, out of core.

The results of a layer are the input of the next one. So every node is computed once in each layer, however much neighbourhoods
overlap. The results stay in memory where they fit, else they go to a table on disk. A layer that only sums its neighbours' rows
reads them in the order of their files (`summed_pass`); others take nodes in chunks (`chunked_pass`).
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.config.sizes import padded_width
from marius_lite.errors import UserError
from marius_lite.evaluate.chunked_pass import ChunkedPass
from marius_lite.evaluate.layer_pass import InEdgeReader, LayerPass, RowsOfPartition, narrowed, room
from marius_lite.evaluate.layer_rows import LayerRows, RowsOnDisk
from marius_lite.evaluate.summed_pass import SummedPass
from marius_lite.files import disk_error, remove_tree, require_space
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.encoders import Layered
from marius_lite.nn.inputs import Normalize, as_they_are
from marius_lite.storage.table import RowTable

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
    if output.exists():
        raise UserError(f"{output}: exists already: choose another name, or remove it")
    scratch = output.with_name(output.name + ".tmp")
    remove_tree(scratch)
    _require_space(encoder, partitioning, scratch)
    training = encoder.training
    try:
        encoder.eval()
        rows: LayerRows = room(scratch / "input", partitioning, encoder.early_width(0) or encoder.in_width, 0, memory)
        _fill(rows, encoder, features, partitioning, normalize)
        for layer in range(len(encoder.widths) - 1):
            width = encoder.early_width(layer + 1) or encoder.widths[layer]
            after = room(scratch / f"layer-{layer}", partitioning, width, rows.memory_bytes, memory)
            _pass_of(encoder, layer)(encoder, layer, rows, after, adjacency, partitioning, memory, degrees).run()
            rows.remove()
            rows = after
        vectors = RowsOnDisk(output, partitioning, encoder.widths[-1])
        last = len(encoder.widths) - 1
        _pass_of(encoder, last)(encoder, last, rows, vectors, adjacency, partitioning, memory, degrees).run()
        return vectors.table()
    except BaseException as error:
        remove_tree(output)
        if isinstance(error, OSError):
            raise disk_error(error, scratch) from error
        raise
    finally:
        encoder.train(training)
        remove_tree(scratch)


def _pass_of(encoder: Layered, layer: int) -> type[LayerPass]:
    return ChunkedPass if encoder.summed_width(layer) is None else SummedPass


@torch.no_grad()
def _fill(rows: LayerRows, encoder: Layered, features: RowsOfPartition, partitioning: Partitioning, normalize: Normalize) -> None:
    """Write the features as the first layer keeps them."""
    device, step = next(encoder.parameters()).device, max(1, PART_BYTES // (encoder.in_width * 4))
    for k in range(partitioning.partitions):
        whole = features.read(k)
        with rows.writing(k) as write:
            for start in range(0, len(whole), step):
                stored = np.ascontiguousarray(whole[start : start + step], dtype=np.float32)
                part = normalize(torch.from_numpy(stored))[:, : encoder.in_width].contiguous()
                write(narrowed(encoder, 0, part.to(device)).cpu().numpy())


def _require_space(encoder: Layered, partitioning: Partitioning, path: Path) -> None:
    """Raise UserError unless the disk has room for the tables of two layers at a time, as if none stayed in memory."""
    widths = [encoder.early_width(layer) or width for layer, width in enumerate((encoder.in_width, *encoder.widths[:-1]))]
    widths.append(encoder.widths[-1])
    padded = [padded_width(width, np.float32) for width in widths]
    numbers = max(map(sum, itertools.pairwise(padded)))
    require_space(path, numbers * 4 * partitioning.rows * partitioning.partitions, "the vectors of all nodes, layer by layer,")
