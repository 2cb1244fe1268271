"""A dataset, opened: what its folder gives, and its verification."""

from __future__ import annotations

from marius_lite.graph.checked import REDO as REDO
from marius_lite.graph.folder import DatasetFolder


class Dataset(DatasetFolder):
    """Read-only view of what ``preprocess`` wrote; `open` makes one."""

    def verify(self) -> None:
        """Compare everything with the manifest, see `graph.verify`. Raises UserError."""
        from marius_lite.graph.verify import verify_dataset  # it loads what most commands do without

        verify_dataset(self)
