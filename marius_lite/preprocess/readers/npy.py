"""Edge lists as arrays, (E, 2), (E, 3) or (2, E), in blocks from .npy files and .npz archives.

Shape (2, E) has sources in the first row and destinations in the second, as in PyTorch Geometric and GraphBolt. An array (2, 2)
or (2, 3) is read as two edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.columns import COLUMN_ROLES, IGNORE, ROLES
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.array_file import ArrayFile, keys_of
from marius_lite.preprocess.readers.arrays import checked_edges, to_arrow
from marius_lite.preprocess.readers.edge_values import EDGES, open_relations, open_values
from marius_lite.preprocess.readers.folders import announced_nodes
from marius_lite.preprocess.readers.format import Format, Opening
from marius_lite.preprocess.readers.raw import RawEdges, Reader, Stretch, shares
from marius_lite.preprocess.readers.roles import columns_used
from marius_lite.preprocess.readers.source import InputFile, Progress, checksum_of, magic_of
from marius_lite.preprocess.readers.sparse import SparseReader, sparse_parts
from marius_lite.preprocess.readers.torch_save import is_torch_save

ADVICE = "save integers of shape (E, 2), (E, 3) or (2, E)"
Column = npt.NDArray[Any]


class NpyReader:
    """Reads one array of edges. Columns are src, dst or src, rel, dst unless --columns says otherwise. Floats are read where one
    column is a weight. An archive whose edges have a usual name may have their relations beside them.

    ``nodes``: a GraphBolt folder says that ids 0 to ``nodes`` - 1 exist. Its arrays are always (2, E).
    """

    kind: IdKind = "int"
    titles: tuple[str, ...] = ()
    lines = 0
    stretch: Stretch | None = None

    def __init__(self, file: InputFile, options: Options, block_rows: int, progress: Progress, nodes: int | None = None):
        self.path = file.path
        self._block_rows = block_rows
        self._options = options
        self._progress = progress
        self.nodes = None if nodes is None else range(nodes)
        self._array = ArrayFile(Path(file.name), ADVICE, EDGES)
        shape, dtype = self._array.shape, self._array.dtype
        self._turned = (
            len(shape) == 2 and shape[0] == 2 and (nodes is not None or (shape[1] > 3 and len(options.columns or ()) != shape[1]))
        )
        self._by_column = self._turned != self._array.by_column
        self._edges, self._width = (shape[::-1] if self._turned else shape) if len(shape) == 2 else (0, 0)
        width = self._width
        roles = options.columns or (("src", "dst") if width == 2 else ROLES)
        whole = dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize in (4, 8) and "weight" in roles)
        if not whole or not (width in (2, 3) or (width and width == len(roles))):
            raise UserError(
                f"{self._array.name}: an array of {dtype}, shape {shape}: {ADVICE}; with weights or times, say by "
                "--columns which column is what"
            )
        if not set(roles) <= {*COLUMN_ROLES, IGNORE} or len(roles) != width:
            raise UserError(
                f"{self._array.name}: --columns {','.join(roles)}: the array has {width} columns without names: "
                f"write {'src,dst' if width == 2 else 'src,rel,dst'} in their order"
            )
        if self._array.key is None and options.needs_values and (options.edge_weight or options.timestamp):
            option = "--edge-weight" if options.edge_weight else "--timestamp"
            raise UserError(
                f"{self.path}: {option}: the array's columns have no names: give their order, for example "
                "--columns src,dst,weight, or save an .npz archive"
            )
        self._values = open_values(self.path, options, self._edges) if options.needs_values else {}
        alone = self._array.key is not None and file.key is None and options.columns is None and width == 2
        if alone and (relations := open_relations(self.path, keys_of(self.path), self._edges)):
            self._values["rel"] = relations
        self._place = {role: place for place, role in enumerate(roles) if role != IGNORE}
        self.columns = columns_used({*self._place, *self._values})
        self.description = f"array of {dtype.newbyteorder('=')}, columns {','.join([*roles, *self._values])}"

    @property
    def checksum(self) -> int:
        if self.stretch is not None:
            return checksum_of(self.path, lambda _: None, self.stretch.begin, self.stretch.end)
        return self._array.checksum

    def stretches(self, size: int) -> list[Stretch]:
        """Return stretches of rows, see `CuttableReader`. An archive is read as a whole."""
        end = self.path.stat().st_size
        blocks = -(-int(self._edges) // self._block_rows)
        count = 1 if self._array.key is not None else min(blocks, -(-end // size))
        if count < 2:
            return []
        rows = [tuple(min(at * self._block_rows, self._edges) for at in part) for part in shares(blocks, count)]
        return [Stretch(first, last, *part) for (first, last), part in zip(rows, shares(end, count))]

    def close(self) -> None:
        """Nothing stays open between blocks."""

    def rows_expected(self) -> int:
        return int(self._edges)

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        with ExitStack() as stack:
            values = {role: stack.enter_context(array.stream()) for role, array in self._values.items()}
            first = self._rows.start
            for block in self._blocks():
                columns = {role: to_arrow(block[place], role) for role, place in self._place.items()}
                columns |= {role: to_arrow(take(len(block[0])), role) for role, take in values.items()}
                yield checked_edges(self._array.name, first, columns, kind, self._options)
                first += len(block[0])
                if self._array.key is None:
                    self._progress(sum(column.nbytes for column in block))
        if self._array.key is not None:
            self._progress(self.path.stat().st_size)

    @property
    def _rows(self) -> range:
        return range(self._edges) if self.stretch is None else range(self.stretch.first, self.stretch.last)

    def _blocks(self) -> Iterator[Sequence[Column]]:
        """Read all columns, a stretch of rows at a time."""
        if not self._by_column and not self._turned and self.stretch is None:  # the checksum is taken on the way
            yield from (list(block.T) for _, block in self._array.blocks(self._block_rows))
            return
        rows = self._rows
        sizes = [min(self._block_rows, rows.stop - first) for first in range(rows.start, rows.stop, self._block_rows)]
        if not self._by_column:  # a row has its numbers side by side, also in a (2, E) array in Fortran order
            with self._array.entries(rows.start * self._width) as take:
                for size in sizes:
                    yield list(take(self._width * size).reshape(-1, self._width).T)
            return
        with ExitStack() as stack:
            takes = [stack.enter_context(self._array.entries(place * self._edges + rows.start)) for place in range(self._width)]
            for size in sizes:
                yield [take(size) for take in takes]


def is_arrays(path: Path) -> bool:
    """Whether a .npy file or a zip archive holds arrays."""
    return magic_of(path) == "npy" or not is_torch_save(path)


def open_arrays(opening: Opening) -> Reader:
    """Return the reader of one array of edges, or of the parts of a sparse matrix."""
    file, options, rows, progress = opening.file, opening.options, opening.block_rows, opening.progress
    if magic_of(file.path) == "zip" and (parts := sparse_parts(file.path, file.key)):
        return SparseReader(file, parts, options, rows, progress)
    reader = NpyReader(file, options, rows, progress, announced_nodes(file.path))
    reader.stretch = opening.stretch
    return reader


FORMAT = Format(open_arrays, magic=("npy", "zip"), holds=is_arrays, values=True)
