"""Loaders for programs written for PyTorch Geometric: batches of its form, from a dataset whose features stay on disk.

They take the arguments of PyTorch Geometric's loaders of the same names. ``docs/pyg.md`` shows them.
"""

from marius_lite.pyg.link_neighbor_loader import LinkNeighborLoader
from marius_lite.pyg.neighbor_loader import NeighborLoader

__all__ = ["LinkNeighborLoader", "NeighborLoader"]
