"""Sparse rows of numbers: a CSR matrix, whose parts are in an .npz archive, is made dense block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.array_file import ArrayFile, Take, keys_of
from marius_lite.preprocess.readers.number_rows import Rows, is_number

FORMAT = "format"
PARTS = ("indptr", "indices", "data", "shape")
ENTRIES_AT_ONCE = 1 << 13
ADVICE = "save indptr, indices, data and shape of a scipy.sparse.csr_array, the names perhaps with a common prefix"


def csr_named(keys: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the prefix of the keys indptr, indices, data and shape: the first of ``names`` that has them, perhaps with _ at its
    end. None where an array has that name itself, or no name has the keys."""
    for name in names:
        if name in keys:
            return None
        for prefix in (name, f"{name}_"):
            if {prefix + part for part in PARTS} <= set(keys):
                return prefix
    return None


def csr_prefix(path: Path, keys: list[str], key: str | None, usual: Sequence[str]) -> str | None:
    """Return what `csr_named` does for ``key``; without a key for the ``usual`` names, else for the only matrix. Raises UserError
    for several."""
    names = usual if key is None else (key,)
    if (prefix := csr_named(keys, names)) is not None or key is not None or not set(names).isdisjoint(keys):
        return prefix
    prefixes = [one.removesuffix("indptr") for one in keys if one.endswith("indptr")]
    prefixes = [prefix for prefix in prefixes if {prefix + part for part in PARTS} <= set(keys)]
    if len(prefixes) > 1:
        raise UserError(f"{path}: which matrix? the archive has {', '.join(prefixes)}: name one as {path.name}:KEY")
    return prefixes[0] if prefixes else None


def require_format(path: Path, keys: Sequence[str], prefix: str, known: str) -> None:
    """Refuse a matrix that scipy saved in another format than ``known``: its parts may have the same names."""
    if prefix + FORMAT not in keys:
        return
    array = ArrayFile(Path(f"{path}:{prefix}{FORMAT}"), ADVICE)
    with array.entries(0) as take:
        saved = str(take(1).astype(str)[0])
    if saved != known:
        raise UserError(f"{path}: a matrix in {saved} format: save matrix.tocsr()")


class CsrRows:
    """Rows of a CSR matrix. Entries of the same place are added. Beside the dense block, 8,192 entries are in memory."""

    together = 1

    def __init__(self, path: Path, prefix: str):
        self.path, self.name = path, f"{path}:{prefix}"
        require_format(path, keys_of(path), prefix, "csr")
        self._indptr, self._indices, self._data, shape = (ArrayFile(Path(f"{path}:{prefix}{part}"), ADVICE) for part in PARTS)
        self.dtype = self._data.dtype
        if shape.shape != (2,) or shape.dtype.kind not in "iu":
            raise UserError(f"{shape.name}: an array of {shape.dtype}, shape {shape.shape}: {ADVICE}")
        self.rows, self.width = (int(length) for length in next(shape.blocks(2))[1])
        self._check_parts(prefix)

    def _check_parts(self, prefix: str) -> None:
        for part in (self._indptr, self._indices, self._data):
            known = is_number(part.dtype) if part is self._data else part.dtype.kind in "iu"
            if len(part.shape) != 1 or not known:
                raise UserError(f"{part.name}: an array of {part.dtype}, shape {part.shape}: {ADVICE}")
        if self.rows < 1 or self.width < 1 or self._indptr.shape[0] != self.rows + 1:
            raise UserError(
                f"{self._indptr.name}: {self._indptr.shape[0]} entries for shape ({self.rows}, {self.width}), "
                f"{self.rows + 1} are needed: {ADVICE}"
            )
        if self._indices.shape != self._data.shape:
            raise UserError(
                f"{self._indices.name}: {self._indices.shape[0]} entries, {self._data.name} has {self._data.shape[0]}: {ADVICE}"
            )

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @property
    def checksum(self) -> int:
        return self._data.checksum

    def row_cost(self) -> int:
        return self.width * self.dtype.itemsize

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        with ExitStack() as stack:
            indptr, indices, data = (stack.enter_context(part.stream()) for part in (self._indptr, self._indices, self._data))
            end = self._ends(indptr(1), 0, 0)[-1]
            if end:
                raise UserError(f"{self._indptr.name}: begins with {end}: it must begin with 0: {ADVICE}")
            for first in range(0, self.rows, rows):
                ends = self._ends(indptr(min(rows, self.rows - first)), int(end), first)
                yield first, self._dense(np.concatenate([[end], ends]), indices, data, first)
                end = ends[-1]
            if end != self._data.shape[0]:
                raise UserError(f"{self._indptr.name}: ends with {end}, there are {self._data.shape[0]} entries: {ADVICE}")

    def _ends(self, given: Rows, start: int, first: int) -> npt.NDArray[np.int64]:
        """Return where rows ``first``, ... end among the entries. Raises UserError where these places fall, or exceed the
        entries."""
        ends = given.astype(np.int64)
        falls = np.diff(ends, prepend=start) < 0
        if falls.any() or (ends > self._data.shape[0]).any():
            row = first + int((falls | (ends > self._data.shape[0])).argmax())
            raise UserError(
                f"{self._indptr.name}: entry {row + 1} is {ends[row - first]}: they must rise, up to the number of "
                f"entries, {self._data.shape[0]}: {ADVICE}"
            )
        return ends

    def _dense(self, bounds: npt.NDArray[np.int64], indices: Take, data: Take, first: int) -> Rows:
        """Return rows ``first``, ... as a dense block. ``bounds``: where each row's entries begin and end."""
        block = np.zeros((len(bounds) - 1, self.width), self.dtype.newbyteorder("="))
        for at in range(int(bounds[0]), int(bounds[-1]), ENTRIES_AT_ONCE):
            count = min(ENTRIES_AT_ONCE, int(bounds[-1]) - at)
            columns = indices(count).astype(np.int64)
            rows = np.searchsorted(bounds, np.arange(at, at + count), side="right") - 1
            if (outside := (columns < 0) | (columns >= self.width)).any():
                place = int(outside.argmax())
                raise UserError(
                    f"{self._indices.name}: row {first + rows[place]}: column {columns[place]} of {self.width}: "
                    f"columns are numbered from 0: {ADVICE}"
                )
            np.add.at(block, (rows, columns), data(count))
        return block
