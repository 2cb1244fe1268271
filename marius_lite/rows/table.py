"""Make and open the table of a run's learned rows, in ``live/`` and in checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.files import disk_errors
from marius_lite.graph.dataset import Dataset
from marius_lite.storage.metadata import create_group
from marius_lite.storage.record import DTYPES, RecordLayout, record_of
from marius_lite.storage.table import RowTable

NODES = "nodes"
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def record_learned(config: Config) -> RecordLayout | None:
    """Return the record of a node's learned row; None where no rows are learned."""
    rows = config.optimizer.rows.name
    return record_of(rows, config.model.dim, config.storage.row_dtype) if config.learns_rows else None


def create_table(path: Path, dataset: Dataset, config: Config) -> RowTable | None:
    """Make a Zarr group with an empty table of the run's records. Returns the table, None where no rows are learned."""
    with disk_errors(path):
        create_group(path)
    record = record_learned(config)
    if record is None:
        return None
    return RowTable.create(
        path / NODES,
        dataset.partitioning.nodes,
        record.width,
        dataset.partitioning.rows,
        {
            "values": [0, record.dim],
            "state": [record.dim, record.dim + record.state_columns],
            "decoder": config.model.decoder,
            "row_optimizer": config.optimizer.rows.name,
            **({} if record.type == "float32" else {"type": record.type}),
        },
        record.dtype,
    )


def table_bytes(dataset: Dataset, config: Config) -> int:
    """Return the bytes that the table's files take on disk; 0 where no rows are learned."""
    record, partitioning = record_learned(config), dataset.partitioning
    return partitioning.partitions * partitioning.rows * record.stride if record else 0


def open_table(path: Path, dataset: Dataset, config: Config, checksums: Mapping[int, int] | None) -> RowTable | None:
    """Open what `create_table` made, in ``live/`` or a checkpoint; None where no rows are learned.

    ``checksums``: those of its files, by partition; None: nothing is written yet. Raises UserError for a table of another shape.
    """
    record, partitioning = record_learned(config), dataset.partitioning
    if record is None:
        return None
    table, width, dtype = RowTable.open(path / NODES), record.width, record.dtype
    if table != RowTable(table.path, partitioning.nodes, width, partitioning.rows, dtype):
        found = (
            f"{table.nodes:,} rows of {table.width} {NAMES.get(table.dtype, table.dtype)}, {table.rows_per_partition:,} in a file"
        )
        wanted = f"{partitioning.nodes:,} of {width} {record.type}, {partitioning.rows:,} in a file"
        raise UserError(f"{table.path}: {found}, the run has {wanted}: damaged, choose another checkpoint with --checkpoint")
    return table if checksums is None else table.expecting(checksums)
