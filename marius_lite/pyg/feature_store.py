"""The features and labels of a dataset as PyTorch Geometric's own loaders read them: rows from disk, when a batch asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import FeatureStore as GeometricFeatures
from torch_geometric.data import TensorAttr

from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.pyg.store_ids import NODE_BYTES, StoreIds, require_memory
from marius_lite.pyg.subgraphs import labels_of, opened
from marius_lite.sizes import format_bytes


class FeatureStore(GeometricFeatures):  # type: ignore[misc]
    """``x`` and, where nodes have labels, ``y`` of a dataset: a ``torch_geometric.data.FeatureStore`` that is only read.

    ``data``: a dataset of `preprocess` with ``--features``, or its folder. ``width``: how many features a model takes, if that is
    to be checked. ``memory``: bytes that ids, labels and one answer may take (``4GB``). ``ids``: see `StoreIds`.

    Rows are read from the files of the features, those near each other together; the first rows of a partition's file wait until
    it is compared with its checksum. Raises UserError for what cannot be, RunError for a file that cannot be read.
    """

    def __init__(self, data: Dataset | Path | str, width: int | None = None, memory: int | str = "auto"):
        super().__init__()
        dataset = opened(data)
        if dataset.features is None:
            raise UserError(f"{dataset.path}: a feature store needs a dataset preprocessed with --features FILE")
        if width not in (None, dataset.features.width):
            raise UserError(f"{dataset.path}: its nodes have {dataset.features.width} features, not {width}")
        nodes = dataset.manifest.nodes
        labels = nodes * dataset.labels.room(1).nbytes if dataset.labels else 0
        needs = {"ids": NODE_BYTES * nodes, "labels": labels}
        self._left = require_memory(dataset, memory, needs) - sum(needs.values())
        self.ids, self._dataset, self._features, self._labels = StoreIds(dataset), dataset, dataset.features, labels_of(dataset)

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """Return what a batch is given: x, and y where nodes have labels."""
        return [TensorAttr(None, name) for name in ("x", *(["y"] if self._labels is not None else []))]

    def _get_tensor(self, attr: TensorAttr) -> Tensor | None:
        """Return the rows of the nodes that are asked for, in this order: float32 (n, width), or their labels."""
        if self._get_tensor_size(attr) is None:
            return None
        nodes = self._asked(attr.index)
        if attr.attr_name == "y":
            assert self._labels is not None
            return torch.from_numpy(self._labels[nodes])
        if (size := 4 * self._features.width * len(nodes)) > self._left:
            raise UserError(
                f"{self._dataset.path}: the features of {len(nodes):,} nodes take {format_bytes(size)}, `memory` leaves "
                f"{format_bytes(self._left)}: ask for fewer nodes at a time, or give more"
            )
        return torch.from_numpy(self._rows(nodes))

    def _asked(self, index: Any) -> npt.NDArray[np.int64]:
        """Return the node ids of an index of PyTorch Geometric's: numbers, a slice, or None for all."""
        if index is None or isinstance(index, slice):
            found: npt.NDArray[np.int64] = self.ids.nodes[index or slice(None)]
            return found
        return self.ids.node_ids(np.asarray(index.cpu() if isinstance(index, Tensor) else index).reshape(-1))

    def _rows(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        rows = np.empty((len(nodes), self._features.width), np.float32)
        order, size = np.argsort(nodes, kind="stable"), self._dataset.partitioning.rows
        ascending = nodes[order]
        for k in np.unique(ascending // size).tolist():
            low, high = np.searchsorted(ascending, [k * size, (k + 1) * size])
            stored = self._features.table.read_rows(k, ascending[low:high] - k * size, slice(0, self._features.width))
            rows[order[low:high]] = self._features.decode(stored)
        return rows

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...] | None:
        if attr.group_name is not None:
            return None
        labels = None if self._labels is None else self._labels.shape
        return {"x": (len(self.ids), self._features.width), "y": labels}.get(attr.attr_name)

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        raise UserError(f"{self._dataset.path}: found {attr.attr_name} {tuple(tensor.shape)} to store: a dataset is only read")

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        raise UserError(f"{self._dataset.path}: found {attr.attr_name} to remove: a dataset is only read")
