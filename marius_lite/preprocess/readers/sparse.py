"""Edges as a sparse matrix, whose parts are in an .npz archive: coordinates (COO), or compressed rows (CSR).

The parts have the names that scipy.sparse.save_npz gives them, or src and dst. Values are left out, except those that
--edge-weight or --timestamp name. All ids below the matrix's size exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.array_file import ArrayFile, Take, keys_of
from marius_lite.preprocess.readers.arrays import checked_edges, to_arrow
from marius_lite.preprocess.readers.csr_rows import require_format
from marius_lite.preprocess.readers.edge_values import EDGES, open_relations, open_values
from marius_lite.preprocess.readers.raw import RawEdges
from marius_lite.preprocess.readers.source import InputFile, Progress

COORDINATES = (("row", "col"), ("rows", "cols"), ("src", "dst"))
CSR = ("indptr", "indices")
SHAPE = "shape"
ADVICE = "save row and col, or indptr and indices, as one-dimensional arrays of integers"
Ints = npt.NDArray[np.int64]


def sparse_parts(path: Path, key: str | None) -> tuple[str, ...] | None:
    """Return the names of the two arrays that hold the edges of an archive; None where its edges are one array."""
    if key is not None or not {*EDGES}.isdisjoint(keys := keys_of(path)):
        return None
    return next((parts for parts in (*COORDINATES, CSR) if set(parts) <= set(keys)), None)


class SparseReader:
    """Reads the edges of a sparse matrix. ``parts``: see `sparse_parts`."""

    kind: IdKind = "int"
    titles: tuple[str, ...] = ()

    def __init__(self, file: InputFile, parts: tuple[str, ...], options: Options, block_rows: int, progress: Progress):
        self.path = file.path
        self._options = options
        self._block_rows = block_rows
        self._progress = progress
        keys = keys_of(file.path)
        self._first, self._second = (self._part(part) for part in parts)
        self._is_csr = parts == CSR
        require_format(self.path, keys, "", "csr" if self._is_csr else "coo")
        self._edges = self._second.shape[0]
        if not self._is_csr and self._first.shape[0] != self._edges:
            raise UserError(
                f"{self._first.name}: {self._first.shape[0]} entries, {self._second.name} has {self._edges}: {ADVICE}"
            )
        self._rel = open_relations(self.path, keys, self._edges)
        count = self._size() if SHAPE in keys else self._first.shape[0] - 1 if self._is_csr else None
        self._values = open_values(self.path, options, self._edges)
        self.nodes = None if count is None else range(count)
        self.columns = 2 + (self._rel is not None)
        if options.columns is not None:
            raise UserError(
                f"{self.path}: --columns {','.join(options.columns)}: the archive names its arrays: leave out --columns"
            )
        self.description = f"{'CSR' if self._is_csr else 'coordinates'} in .npz: {', '.join(parts)}"

    def _part(self, name: str) -> ArrayFile:
        part = ArrayFile(Path(f"{self.path}:{name}"), ADVICE)
        if len(part.shape) != 1 or part.dtype.kind not in "iu":
            raise UserError(f"{part.name}: an array of {part.dtype}, shape {part.shape}: {ADVICE}")
        return part

    def _size(self) -> int:
        part = self._part(SHAPE)
        sizes = next(part.blocks(2))[1].tolist() if part.shape == (2,) else []
        if len(sizes) != 2 or sizes[0] != sizes[1] or sizes[0] < 0:
            raise UserError(f"{part.name}: {sizes or part.shape}: rows and columns must be the same nodes")
        return int(sizes[0])

    @property
    def checksum(self) -> int:
        return self._second.checksum

    def close(self) -> None:
        """Nothing stays open between blocks."""

    def rows_expected(self) -> int:
        return self._edges

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        at = 0
        with ExitStack() as stack:
            first, second = (stack.enter_context(part.stream()) for part in (self._first, self._second))
            rel = stack.enter_context(self._rel.stream()) if self._rel else None
            values = {role: stack.enter_context(array.stream()) for role, array in self._values.items()}
            for src in self._compressed_rows(first) if self._is_csr else self._listed(first):
                columns = {"src": to_arrow(src, "src"), "dst": to_arrow(second(len(src)), "dst")}
                if rel is not None:
                    columns["rel"] = to_arrow(rel(len(src)), "rel")
                columns |= {role: to_arrow(take(len(src)), role) for role, take in values.items()}
                yield checked_edges(str(self.path), at, columns, kind, self._options)
                at += len(src)
        self._progress(self.path.stat().st_size)

    def _listed(self, rows: Take) -> Iterator[npt.NDArray[Any]]:
        for at in range(0, self._edges, self._block_rows):
            yield rows(min(self._block_rows, self._edges - at))

    def _compressed_rows(self, indptr: Take) -> Iterator[Ints]:
        """Return the row of each entry, from where rows end among the entries. Raises UserError where these places are wrong."""
        rows, done = self._first.shape[0] - 1, 0
        if rows < 0 or indptr(1)[0] != 0:
            raise self._wrong_ends()
        for first in range(0, rows, self._block_rows):
            ends = indptr(min(self._block_rows, rows - first)).astype(np.int64)
            if (np.diff(ends, prepend=done) < 0).any() or ends[-1] > self._edges:
                raise self._wrong_ends()
            for at in range(done, int(ends[-1]), self._block_rows):
                entries = np.arange(at, min(at + self._block_rows, ends[-1]))
                yield first + np.searchsorted(ends, entries, side="right")
            done = int(ends[-1])
        if done != self._edges:
            raise self._wrong_ends()

    def _wrong_ends(self) -> UserError:
        return UserError(
            f"{self._first.name}: must begin with 0, never fall and end with the number of entries, {self._edges}: {ADVICE}"
        )
