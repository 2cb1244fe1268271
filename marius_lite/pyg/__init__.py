"""Loaders for programs written for PyTorch Geometric: batches of its form, from a dataset whose features stay on disk.

They take the arguments of PyTorch Geometric's loaders of the same names. `FeatureStore` and `GraphStore` are what its own loaders
read. ``docs/pyg.md`` shows them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from marius_lite.nn.geometric import without_geometric
from marius_lite.pyg.link_neighbor_loader import LinkNeighborLoader
from marius_lite.pyg.neighbor_loader import NeighborLoader

if TYPE_CHECKING:
    from marius_lite.pyg.feature_store import FeatureStore
    from marius_lite.pyg.graph_store import GraphStore

MODULES = {"FeatureStore": "feature_store", "GraphStore": "graph_store"}
__all__ = ["FeatureStore", "GraphStore", "LinkNeighborLoader", "NeighborLoader"]


def __getattr__(name: str) -> Any:
    """Return a store. Its class is one of PyTorch Geometric's, which is imported only where it is used."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"marius_lite.pyg.{MODULES[name]}")
    except ImportError as error:
        raise without_geometric(error, f"marius_lite.pyg.{name} needs") from error
    return getattr(module, name)
