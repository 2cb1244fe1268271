"""An open dataset: what its folder holds, and its verification."""

from __future__ import annotations

from marius_lite.graph.checked import REDO as REDO
from marius_lite.graph.folder import DatasetFolder


class Dataset(DatasetFolder):
    """A dataset that ``preprocess`` wrote, for reading. `open` makes one."""

    def verify(self) -> None:
        """Compare everything with the manifest, see `graph.verify`. Raises UserError for the first fault."""
        from marius_lite.graph.verify import verify_dataset  # most commands do not need what it loads

        verify_dataset(self)
