"""Neighbour lists on disk, in blocks of bytes (see csrc/graph/arcs.h). A partitioner reads them in several passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite import files
from marius_lite._native import ArcWriter, read_file_range, write_file
from marius_lite.preprocess.disk.sort import Records

Block = npt.NDArray[np.uint8]
ARCS_AT_ONCE = 1 << 14
MOST_BLOCK_BYTES = 4 << 20


class ArcLists:
    """The lists of one graph, in ``folder``. ``arcs``: how many there are; arcs with equal ends count once.

    ``memory`` (bytes) bounds a block; a few times its size is taken. The lists do not depend on it.
    """

    def __init__(self, folder: Path, sorted_arcs: Iterable[Records], memory: int):
        block_bytes = min(MOST_BLOCK_BYTES, memory // 64)
        self._folder = folder
        self._sizes: list[int] = []
        folder.mkdir(parents=True)
        writer = ArcWriter()
        for records in sorted_arcs:
            for at in range(0, len(records), ARCS_AT_ONCE):
                writer.append(records[at : at + ARCS_AT_ONCE])
                if writer.waiting >= block_bytes:
                    self._write(writer)
        writer.finish()
        if writer.waiting:
            self._write(writer)
        self.arcs = int(writer.arcs)

    def _write(self, writer: Any) -> None:
        block = np.empty(writer.waiting, np.uint8)
        writer.take(block)
        write_file(str(self._folder / str(len(self._sizes))), block)
        self._sizes.append(len(block))

    def blocks(self, progress: Callable[[int], Any]) -> Iterator[Block]:
        """Read block after block. ``progress`` is called with the bytes of each."""
        for number, size in enumerate(self._sizes):
            block = np.empty(size, np.uint8)
            read_file_range(str(self._folder / str(number)), 0, block)
            yield block
            progress(size)

    def remove(self) -> None:
        files.remove_tree(self._folder)
