"""Check the labels of nodes that may have several classes, for `info --verify`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.config.sizes import padded_width
from marius_lite.graph.damage import check_chunk, damaged, first
from marius_lite.graph.folder import DatasetFolder
from marius_lite.graph.multi_labels import MultiLabels
from marius_lite.graph.node_columns import LABELS, MULTI_LABEL
from marius_lite.graph.partitioning import Partitioning
from marius_lite.types import Ids


def open_multi_labels(dataset: DatasetFolder) -> MultiLabels:
    """Open the table of labels. Raises UserError where its rows differ from the manifest."""
    path, partitioning, shape = dataset.path / LABELS, dataset.partitioning, dataset.manifest.labels
    if shape is None:
        raise damaged(dataset.path / "zarr.json", "multi_label without labels")
    try:
        labels = MultiLabels(dataset.path, shape.classes, dataset.manifest.files)
    except (KeyError, ValueError) as error:
        raise damaged(path, f"describes no table of labels: {error!r}") from error
    table = labels.table
    found = (table.nodes, table.rows_per_partition, table.dtype, table.width, table.attributes.get("values"))
    wanted = (partitioning.nodes, partitioning.rows, MULTI_LABEL, padded_width(shape.classes, MULTI_LABEL), [0, shape.classes])
    if found != wanted:
        raise damaged(path, f"nodes, rows of a chunk, type and columns are {found}, by the manifest {wanted}")
    for k in range(partitioning.partitions):
        check_chunk(dataset, table.chunks, k)
    return labels


def labelled(labels: MultiLabels, ids: Ids, partitioning: Partitioning) -> npt.NDArray[np.int64]:
    """Return 0 for each node that has a label, -1 for others. The nodes are of one partition.

    Raises UserError for a row that is not a label.
    """
    k = int(ids[0]) // partitioning.rows
    table, low = labels.table, int(ids[0]) - k * partitioning.rows
    rows = table.read_block(k, low, low + len(ids))
    values, filled = rows[:, : labels.classes], rows[:, labels.classes :]
    none = (values == -1).all(1)
    if (row := first(~(none | np.isin(values, (0, 1)).all(1)))) is not None:
        raise damaged(table.path, f"the label of node {ids[row]:,} is not 0 or 1 for each class, nor -1 for all")
    if (row := first(filled != 0)) is not None:
        raise damaged(table.path, f"the row of node {ids[row]:,} is not filled up with 0")
    return np.where(none, -1, 0)
