"""What the loaders have in common: one iteration at a time, and PyTorch Geometric's form of a batch."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.nn.geometric import without_geometric
from marius_lite.pyg.hetero import asked_about, by_type
from marius_lite.pyg.options import LoaderOptions
from marius_lite.pyg.subgraphs import Subgraphs
from marius_lite.pyg.typed_edges import EdgeType
from marius_lite.seeds import order_for

if TYPE_CHECKING:
    from torch_geometric.data import Data


class Loader(ABC):
    """Yields batches of ``_subgraphs``. See `NeighborLoader` for the options."""

    _subgraphs: Subgraphs
    _about: str | EdgeType | None = None  # the type of nodes or edges that are loaded, where batches have types

    def __init__(self, options: LoaderOptions):
        try:
            from torch_geometric.data import Data
        except ImportError as error:
            raise without_geometric(error, "marius_lite.pyg needs") from error
        self._make: type[Data] = Data
        self._options, self._epoch = options, 0
        # Weak, so that a loop that is left ends its iteration, and a loader that nobody has any more goes.
        self._running: weakref.ref[Generator[Any, None, None]] | None = None
        self._closed = False

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of batches."""

    @abstractmethod
    def _batches(self, epoch: int) -> Generator[Data, None, None]:
        """Yield the batches of an iteration."""

    def __iter__(self) -> Generator[Any, None, None]:
        """Yield batches. The iteration before ends, if it has not. The next one draws anew."""
        if self._closed:
            raise UserError("the loader is closed: make another one")
        self._end()
        self._epoch += 1
        running = self._batches(self._epoch - 1)
        self._running = weakref.ref(running)
        return running

    def metadata(self) -> tuple[list[str], list[EdgeType]]:
        """Return the types of nodes and of edges that batches have, as PyTorch Geometric's models take them.

        Raises UserError where batches have no types.
        """
        edges = self._subgraphs.edges
        if edges is None:
            raise UserError("metadata: batches of this loader have no types: give num_neighbors by edge type, or a type to load")
        return list(edges.node_types), list(edges.edge_types)

    def raw_ids(self, n_id: Tensor) -> list[Any]:
        """Return the raw ids of nodes of a batch, given their ``n_id``."""
        return self._subgraphs.raw.names(n_id.cpu().numpy())

    def counters(self) -> dict[str, float]:
        """Return the bytes read and written so far, and the seconds that batches waited for rows."""
        return self._subgraphs.counters()

    def close(self) -> None:
        """End the iteration, and give up memory and temporary files. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._end()
            self._subgraphs.close()

    def _end(self) -> None:
        """End the iteration, if there is one."""
        if self._running is not None and (running := self._running()) is not None:
            running.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _order(self, items: int, epoch: int) -> list[npt.NDArray[np.int64]]:
        """Return the places of each batch of an iteration, among so many items."""
        size, drawn = self._options.batch_size, (self._options.seed, "shuffle", epoch, 0, 0)
        order = order_for(*drawn, items).astype(np.int64) if self._options.shuffle else np.arange(items)
        return [order[at * size : (at + 1) * size] for at in range(self._options.batches(items))]

    def _data(self, found: dict[str, Any], **more: Any) -> Any:
        """Return a batch. ``more``: what is known of its seeds."""
        edges = self._subgraphs.edges
        if edges is None or self._about is None:
            data = _filled(self._make(), {**found, **more})
        else:
            data = asked_about(*by_type(found, edges, self._subgraphs.labelled), self._about, more)
        return data if self._options.transform is None else self._options.transform(data)


def _filled(data: Data, attributes: dict[str, Any]) -> Data:
    """Give a new ``data`` its attributes, none of which is None or a property of its class.

    They are written into the mapping that holds them. Each one that is set by name is first looked up twice, which takes 70 us a
    batch; that is more than sampling a small one.
    """
    mapping = getattr(data.stores[0], "_mapping", None)
    if not isinstance(mapping, dict):  # another version holds them elsewhere
        return data.update(attributes)
    mapping.update(attributes)
    return data
