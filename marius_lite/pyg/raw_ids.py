"""Turn node ids into what a user calls the nodes, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset

Ids = npt.NDArray[np.int64]


class RawIds:
    """The raw ids of a dataset's nodes, where they are integers: 8 bytes of memory a node. Other nodes go by their node ids."""

    def __init__(self, dataset: Dataset):
        self._dataset, nodes = dataset, dataset.manifest.nodes
        self.are_integers = dataset.manifest.ids == "int"
        self._raw: Ids | None = dataset.raw_ids(0, nodes).to_numpy() if self.are_integers else None

    def of(self, nodes: Ids) -> Tensor:
        """Return what nodes are called, int64 (n,)."""
        return torch.from_numpy(nodes if self._raw is None else self._raw[nodes])

    def names(self, called: Ids) -> list[Any]:
        """Return the raw ids of nodes, given what `of` returns."""
        if self.are_integers:
            found: list[Any] = called.tolist()
            return found
        p = self._dataset.partitioning
        names: list[Any] = [None] * len(called)
        for k in np.unique(called // p.rows).tolist():
            places = np.flatnonzero(called // p.rows == k)
            of_partition = self._dataset.raw_ids(p.range(k).start, p.range(k).stop)
            for place, name in zip(places.tolist(), of_partition.take(called[places] - p.range(k).start).to_pylist()):
                names[place] = name
        return names

    def ascending(self, nodes: Ids | None = None) -> Ids:
        """Return nodes, all where None, in the order of what they are called."""
        found = np.arange(self._dataset.manifest.nodes) if nodes is None else nodes
        return found if self._raw is None else found[np.argsort(self._raw[found], kind="stable")]

    def nodes(self, named: Tensor | npt.NDArray[Any] | Sequence[Any], argument: str) -> Ids:
        """Return the nodes that a user names, by raw ids of any kind. ``argument``: where the names come from.

        Raises UserError for a name that no node has.
        """
        values = named.cpu().numpy() if isinstance(named, Tensor) else np.asarray(named)
        if self.are_integers and not np.issubdtype(values.dtype, np.integer):
            raise UserError(f"{argument}: found {values.dtype}: expected integers, the raw ids of nodes, or a mask")
        if not self.are_integers and np.issubdtype(values.dtype, np.integer):
            return self._known(values.astype(np.int64), (values >= 0) & (values < self._dataset.manifest.nodes), values, argument)
        raw = pa.array(values.astype(np.int64)) if self.are_integers else pa.array(values.astype(str).tolist(), pa.string())
        nodes = self._dataset.lookup_nodes(raw)
        return self._known(nodes, nodes >= 0, values, argument)

    def _known(self, nodes: Ids, known: npt.NDArray[np.bool_], values: npt.NDArray[Any], argument: str) -> Ids:
        if not known.all():
            place = int(np.argmin(known))
            raise UserError(f"{argument}: no node is called {values[place]} (entry {place}) in {self._dataset.path}")
        return nodes
