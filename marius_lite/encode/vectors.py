"""Work out an encoder's vectors of all nodes exactly: full neighbourhoods, layer after layer, in a table removed after use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.config.memory import EVALUATION_BYTES, MemoryPlan, slot_bytes
from marius_lite.config.schema import Config
from marius_lite.encode.normalization import normalization
from marius_lite.errors import UserError
from marius_lite.evaluate.inference import Inference, SomeResults
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.inputs import features_read, lists_read
from marius_lite.graph.known_classes import KnownClasses, known_classes
from marius_lite.nn.encoders import AnyEncoder, Layered, whole_graph_reason
from marius_lite.sampling.neighbours import true_degrees
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable
from marius_lite.temporary import scratch
from marius_lite.types import Ids

SCRATCH = ".vectors-"
"""What the names of scratch folders in a run's folder begin with."""
Inferred = AnyEncoder | Layered


class InputRows:
    """Reads what an encoder's input is made of by partition: features, the learned rows in ``table``, or both side by side; and
    behind them the ``known`` class of each node, where a run sees some.

    Each partition is compared with its checksum when it is read. ``table`` has those of the learned rows.
    """

    def __init__(self, dataset: Dataset, config: Config, table: RowTable | None, known: KnownClasses | None = None):
        self._features, self._known = features_read(dataset, config), known
        self._table, self._dim, self._partitioning = table, config.model.dim, dataset.partitioning

    def read(self, k: int) -> npt.NDArray[np.float32]:
        """Read the rows of the nodes of partition ``k``, (nodes, width), not normalized. Raises RunError for damaged files."""
        parts: list[npt.NDArray[Any]] = []
        if self._features is not None:
            parts.append(self._features.values(k))
        if self._table is not None:
            learned = np.empty((self._partitioning.size(k), self._dim), np.float32)
            self._table.read_into(k, learned)
            parts.append(learned)
        if self._known is not None:
            span = self._partitioning.range(k)
            parts.append(self._known.codes[span.start : span.stop, None].astype(np.float32))
        return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts, 1))


@contextmanager
def vectors(dataset: Dataset, config: Config, encoder: Inferred, table: RowTable | None, folder: Path) -> Iterator[RowTable]:
    """Open a table of every node's vector, in a scratch folder inside ``folder`` that is removed at the end.

    ``table``: the learned rows, None where there are none. Raises UserError for an encoder whose layers are not known.
    """
    with scratch(folder, SCRATCH) as place:
        yield write_vectors(dataset, config, encoder, table, place / "rows")


@contextmanager
def vectors_of(
    nodes: Ids, dataset: Dataset, config: Config, encoder: Inferred, table: RowTable | None, folder: Path
) -> Iterator[SomeResults]:
    """Do as `vectors` for some ``nodes``, whose ids ascend. What they do not need is not worked out."""
    with scratch(folder, SCRATCH) as place:
        yield _inference(dataset, config, encoder, table).of_some(nodes, inference_bytes(config), place / "rows")


def write_vectors(dataset: Dataset, config: Config, encoder: Inferred, table: RowTable | None, output: Path) -> RowTable:
    """Write the table of every node's vector to ``output``. Raises what `vectors` raises."""
    return _inference(dataset, config, encoder, table).of_all(inference_bytes(config), output)


def _inference(dataset: Dataset, config: Config, encoder: Inferred, table: RowTable | None) -> Inference:
    if not isinstance(encoder, Layered):
        raise UserError(
            f"`model.encoder` {config.model.encoder} {whole_graph_reason(encoder.module)}: choose sage, gcn, gat, "
            "rgcn or a model of torch_geometric for what is to be evaluated or exported"
        )
    adjacency = lists_read(dataset, config)
    assert adjacency is not None
    degrees = true_degrees(adjacency, dataset.partitioning) if encoder.degrees else None
    known = known_classes(dataset, config)
    inputs, normalize = InputRows(dataset, config, table, known), normalization(dataset, config, known=known)
    return Inference(encoder, inputs, adjacency, dataset.partitioning, degrees, normalize)


@contextmanager
def rows_behind(table: RowTable, config: Config, slots: int) -> Iterator[PartitionBuffer]:
    """Open a buffer over a table that is only read."""
    buffer = PartitionBuffer(table, slots, threads=config.storage.io_threads, direct=config.storage.direct_io)
    try:
        yield buffer
    finally:
        buffer.close()


@contextmanager
def vector_rows(
    dataset: Dataset, config: Config, encoder: AnyEncoder, table: RowTable | None, memory: MemoryPlan, folder: Path
) -> Iterator[PartitionBuffer]:
    """Open a buffer over the table that `vectors` makes. It takes no more than ``memory`` has for the buffer of rows.

    A vector may be wider than a row, which may be bfloat16. So its buffer may have fewer slots.
    """
    with vectors(dataset, config, encoder, table, folder) as made:
        fitting = memory.buffer // slot_bytes(made.rows_per_partition, made.stride)
        with rows_behind(made, config, max(1, min(memory.slots, fitting))) as buffer:
            yield buffer


def inference_bytes(config: Config) -> int:
    """Return the memory for inference: half of the run's, and at least that of an evaluation."""
    assert isinstance(config.storage.memory, int)
    return max(EVALUATION_BYTES, config.storage.memory // 2)
