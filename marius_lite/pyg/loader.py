"""What the loaders have in common: one iteration at a time, and PyTorch Geometric's form of a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.pyg.options import LoaderOptions
from marius_lite.pyg.subgraphs import Subgraphs
from marius_lite.seeds import generator_for

if TYPE_CHECKING:
    from torch_geometric.data import Data


class Loader(ABC):
    """Yields batches of ``_subgraphs``. See `NeighborLoader` for the options."""

    _subgraphs: Subgraphs

    def __init__(self, options: LoaderOptions):
        try:
            from torch_geometric.data import Data
        except ImportError as error:
            raise UserError(
                f"marius_lite.pyg needs torch_geometric, which cannot be imported ({error}): pip install 'marius-lite[gnn]'"
            ) from error
        self._make: type[Data] = Data
        self._options, self._epoch = options, 0
        self._running: Generator[Any, None, None] | None = None

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of batches."""

    @abstractmethod
    def _batches(self, epoch: int) -> Generator[Data, None, None]:
        """Yield the batches of an iteration."""

    def __iter__(self) -> Generator[Any, None, None]:
        """Yield batches. The iteration before ends, if it has not. The next one draws anew."""
        if self._running is not None:
            self._running.close()
        self._epoch += 1
        self._running = self._batches(self._epoch - 1)
        return self._running

    def raw_ids(self, n_id: Tensor) -> list[Any]:
        """Return the raw ids of nodes of a batch, given their ``n_id``."""
        if self._subgraphs.raw.are_integers:
            return n_id.tolist()
        names, ids = self._subgraphs.dataset, n_id.tolist()
        return [names.raw_ids(node, node + 1)[0].as_py() for node in ids]

    def counters(self) -> dict[str, float]:
        """Return the bytes read and written so far, and the seconds that batches waited for rows."""
        return self._subgraphs.counters()

    def close(self) -> None:
        """End the iteration, and give up memory and temporary files."""
        if self._running is not None:
            self._running.close()
        self._subgraphs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _order(self, items: int) -> list[npt.NDArray[np.int64]]:
        """Return the places of each batch of the iteration that begins, among so many items."""
        size, drawn = self._options.batch_size, generator_for(self._options.seed, "shuffle", self._epoch - 1, 0, 0)
        order = drawn.permutation(items) if self._options.shuffle else np.arange(items)
        return [order[at * size : (at + 1) * size] for at in range(self._options.batches(items))]

    def _data(self, found: dict[str, Any], **more: Any) -> Any:
        both = str(self._options.subgraph_type) == "bidirectional"
        data = self._make(**(_both_ways(found) if both else found), **more)
        return data if self._options.transform is None else self._options.transform(data)


def _both_ways(found: dict[str, Any]) -> dict[str, Any]:
    """Return a subgraph with each edge in both directions, once, in order. Of the hops' edges there is then no count."""
    ends = found["edge_index"]
    columns = [ends, found["edge_type"][None]] if "edge_type" in found else [ends]
    back = [ends.flip(0), *columns[1:]]
    both = torch.unique(torch.cat([torch.cat(columns), torch.cat(back)], 1), dim=1)
    rest = {name: value for name, value in found.items() if name != "num_sampled_edges"}
    return {**rest, "edge_index": both[:2], **({"edge_type": both[2]} if "edge_type" in found else {})}
