"""In-edge lists that have to be made, of turned edges say: each is made once, and read from a temporary file from then on."""

from __future__ import annotations

from pathlib import Path

from marius_lite.graph.adjacency import Adjacency, PartitionLists
from marius_lite.sampling.neighbours import read_lists
from marius_lite.storage.packs import KeptObjects


class MadeLists:
    """The lists of an ``adjacency``, in a temporary file in ``folder``. ``weighted``: see `read_lists`.

    Raises UserError where the dataset was changed, RunError for a disk that is full or fails.
    """

    def __init__(self, adjacency: Adjacency, weighted: bool, folder: Path):
        self._file = KeptObjects(folder)
        try:
            every = range(adjacency.partitioning.partitions)
            self._kept = [self._file.keep(read_lists(adjacency, k, weighted)) for k in every]
        except BaseException:
            self.close()
            raise

    def read(self, k: int, *, relations: bool = True) -> PartitionLists:
        """Return the lists of partition k, with all that they have. Raises RunError."""
        found: PartitionLists = self._file.read(self._kept[k])
        return found

    def close(self) -> None:
        """Give the disk space back. A second call does nothing."""
        self._file.close()
