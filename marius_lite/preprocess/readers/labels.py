"""The nodes' classes, numbered. Labels that are not just 0, 1, 2, ... are numbered in their order, and kept as names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.array_file import ArrayFile, keys_of
from marius_lite.preprocess.readers.csr_rows import CsrRows, csr_named
from marius_lite.preprocess.readers.feature_rows import DenseRows
from marius_lite.preprocess.readers.label_values import (
    ADVICE,
    INTEGER,
    MOST_CLASSES,
    NONE,
    RANGE,
    USUAL,
    LabelValues,
    open_labels,
)
from marius_lite.preprocess.readers.multi_labels import MultiLabelFile
from marius_lite.preprocess.readers.number_rows import NumberRows
from marius_lite.preprocess.readers.parquet_rows import ParquetRows, only_list
from marius_lite.preprocess.readers.source import locate, magic_of
from marius_lite.preprocess.readers.titles import MOST_SHOWN
from marius_lite.preprocess.readers.zarr_rows import ZarrRows

MOST_NAMES = 1 << 16  # up to so many distinct labels are numbered; more integers are class numbers as they are
LEAST_LABELLED, MOST_DIFFERENT = 20, 0.5  # fewer labels show nothing; a larger share of distinct ones is odd
NO_NUMBER, NO_TEXT = pa.array([NONE]), pa.array([str(NONE), "", "nan", "NaN"])
NO_NAMES = {None, NONE, *NO_TEXT.to_pylist()}
WHOLE = r"^(-?[0-9]{1,18})\.0*$"  # an integer that is written as a float, as in many tables
SCIENTIFIC = r"^-?[0-9]\.[0-9]+e[+-][0-9]{2}$"  # as numpy.savetxt writes numbers
GAPS = pa.array(["NA", "N/A", "#N/A", "<NA>", "null", "NULL"])  # as R, pandas and databases write a missing value


def open_label_file(file: Path, options: Options) -> LabelFile | MultiLabelFile:
    """Open a file of labels. Rows of several numbers say for each class whether the node has it. Any other file gives a node one
    class. Raises UserError for what is neither."""
    rows = _rows_of_several(file)
    return LabelFile(file, options) if rows is None else MultiLabelFile(rows)


def _rows_of_several(file: Path) -> NumberRows | None:
    """Open an array with several columns, a CSR matrix, a Zarr array, or a Parquet column of lists; None for other files."""
    path, key = locate(file)
    if path.is_dir():
        return ZarrRows(path)
    magic = magic_of(path)
    if magic == "parquet":
        return ParquetRows(path) if only_list(path) else None
    if magic == "zip":
        named = (*USUAL, "") if key is None else (key,)  # "": the archive is a matrix of scipy
        if (prefix := csr_named(keys_of(path), named)) is not None:
            return CsrRows(path, prefix)
    elif magic != "npy":
        return None
    array = ArrayFile(file, ADVICE, USUAL)
    return DenseRows(array) if len(array.shape) == 2 and array.shape[1] != 1 else None


class LabelFile:
    """An opened label file. Raises UserError for one that holds anything else.

    ``rows``, ``names`` (of the classes; None where they are numbers): known after `classes`. ``ids``: the nodes of the rows,
    where the file has them. ``checksum``: the crc32c of the file's bytes, known when `blocks` has ended. ``table``: the rows to
    store where a node may have several classes. ``warnings``: a line for each sign that it is not read as it is meant.
    """

    table = None

    def __init__(self, file: Path, options: Options):
        self._values = open_labels(file, options)
        self.path, self.ids, self.rows = self._values.path, self._values.ids, 0
        self.warnings: list[str] = self._values.warnings
        self.names: list[str] | None = None
        self._known: pa.Array | None = None  # the labels of the classes, in their order; None: the numbers themselves

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @property
    def checksum(self) -> int:
        return self._values.checksum

    def classes(self) -> int:
        """Return how many classes there are, by reading all labels. Raises UserError for a wrong label, or where no row has
        one."""
        labels, gaps = _Distinct(self._values), 0
        for values in self._values.read():
            plain = _plain(values)
            gaps += plain.null_count - values.null_count
            labels.add(plain)
        self.rows, self._known = labels.rows, labels.known()
        self.warnings = [*self._values.warnings, *_warnings(self.path, gaps, labels)]
        if self._known is None:
            return labels.largest + 1
        self.names = [str(value) for value in self._known.to_pylist()]
        return len(self.names)

    def blocks(self) -> Iterator[npt.NDArray[np.int32]]:
        """Read class numbers, -1 for none, in blocks. To be called after `classes`."""
        for values in map(_plain, self._values.read()):
            if self._known is None or pa.types.is_integer(self._known.type):
                values = _integers(values)
            if self._known is not None:
                values = pc.index_in(values, value_set=self._known)
            yield values.fill_null(NONE).to_numpy(zero_copy_only=False).astype(np.int32)


def _plain(values: pa.Array) -> pa.Array:
    """Return integers as they are; texts without spaces around them, null for a gap, and whole numbers as integers are
    written."""
    if not pa.types.is_string(values.type):
        return values
    values = pc.utf8_trim_whitespace(values)
    values = pc.if_else(pc.is_in(values, value_set=GAPS), pa.scalar(None, pa.string()), values)
    scientific = pc.fill_null(pc.match_substring_regex(values, SCIENTIFIC), False)
    if pc.any(scientific, min_count=0).as_py():
        numbers = pc.if_else(scientific, values, "0").cast(pa.float64())
        whole = pc.and_(scientific, pc.equal(numbers, pc.trunc(numbers)))
        values = pc.if_else(whole, pc.trunc(numbers).cast(pa.int64(), safe=False).cast(pa.string()), values)
    return pc.replace_substring_regex(values, WHOLE, r"\1")


def _warnings(path: Path, gaps: int, labels: _Distinct) -> list[str]:
    """Return a line for each sign that the labels are not what they are taken for."""
    lines = []
    if gaps:
        lines = [f"{path}: {gaps:,} rows have NA, null or the like, which is no label: call it otherwise if it is a class"]
    if labels.labelled >= LEAST_LABELLED and len(labels.distinct) == 1:
        lines.append(f"{path}: all labels are {min(map(str, labels.distinct))[:MOST_SHOWN]!r}: is this the right column?")
    if labels.labelled >= LEAST_LABELLED and len(labels.distinct) > MOST_DIFFERENT * labels.labelled:
        lines.append(
            f"{path}: {len(labels.distinct):,} classes in {labels.labelled:,} labels, for example "
            f"{min(map(str, labels.distinct))[:MOST_SHOWN]!r}: is this the right column?"
        )
    return lines


class _Distinct:
    """Collects the distinct labels of all rows, up to as many as can be classes with names."""

    def __init__(self, file: LabelValues):
        self._file, self.rows, self.largest, self.labelled = file, 0, NONE, 0
        self._kept: set[Any] = set()
        self._plain = True  # all are integers

    @property
    def distinct(self) -> set[Any]:
        """The labels, as far as they are kept."""
        return self._kept - NO_NAMES

    def add(self, values: pa.Array) -> None:
        numbers = _integers(values)
        named = values.filter(pc.is_null(numbers)).drop_null()
        self._plain &= set(pc.unique(named).to_pylist()) <= NO_NAMES
        wrong = pc.or_(pc.less(numbers, NONE), pc.greater_equal(numbers, MOST_CLASSES)).fill_null(False)
        if self._plain and pc.any(wrong).as_py():
            row = pc.index(wrong, True).as_py()
            raise UserError(f"{self._file.place(self.rows + row)}: label {numbers[row].as_py()}: {RANGE}")
        self.largest = max(self.largest, pc.max(numbers).as_py() if numbers.null_count < len(numbers) else NONE)
        if len(self._kept) <= MOST_NAMES:
            self._kept.update(pc.unique(values).to_pylist())
        self.rows += len(values)
        none = pc.is_in(values, value_set=NO_NUMBER if pa.types.is_integer(values.type) else NO_TEXT)
        self.labelled += len(values) - values.null_count - (pc.sum(none).as_py() or 0)

    def known(self) -> pa.Array | None:
        """Return the labels in order: by number if all are integers, else by their bytes. None where they are class numbers
        themselves. Raises UserError where there are none, or too many."""
        distinct = self.distinct
        if not distinct:
            raise UserError(f"{self._file.name}: no row has a label, all are -1 or empty: give the classes of some nodes")
        if self._plain:
            numbers = sorted({int(value) for value in distinct})
            dense = len(distinct) > MOST_NAMES or numbers == list(range(len(numbers)))
            return None if dense else pa.array(numbers, pa.int64())
        if len(distinct) > MOST_NAMES:
            raise UserError(
                f"{self._file.name}: more than {MOST_NAMES:,} different labels: is this the right file? give a class "
                "for each node"
            )
        return pa.array(sorted(distinct, key=str.encode), pa.string())


def _integers(values: pa.Array) -> pa.Array:
    """Return integers of integers or their decimals; null for other texts."""
    if pa.types.is_integer(values.type):
        return values
    plain = pc.fill_null(pc.match_substring_regex(values, INTEGER), False)
    return pc.if_else(plain, values, pa.scalar(None, pa.string())).cast(pa.int64())
