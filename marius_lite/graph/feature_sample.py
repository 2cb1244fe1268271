"""Find out of what kind the features of nodes are: counts, as of words in a text, or measurements."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from marius_lite.graph.features import Features

Floats = npt.NDArray[np.float32]
SAMPLED = 4 << 20
"""The most bytes of stored rows that are read."""
PLACES = 4
"""Partitions that rows are read of: the training nodes, which are in the first ones, may be of another kind than others."""
MOSTLY = 0.5
"""The share of zeros from which on numbers without a sign are counts."""
ALIKE = 100.0
"""How many times as large as usual the numbers of a column of counts are, at most, where they are not 0. Frequent words of long
texts are 50 times as large as others."""
LARGE = 10.0
"""The root mean square above which numbers are too large for a network as they are. It is about 1 where columns are
standardised."""
UNEVEN = 30.0
"""How many times as large as the deviation of a column another column is, where a network hardly sees the first beside it."""
SMALLER = 0.25
"""The share of columns that vary least, which must be hard to see. Single ones may hold next to nothing."""
CODES = range(3, 65)
"""How many different whole numbers a column has whose numbers may be codes of kinds. Two are as good as 0 and 1."""


@dataclass(frozen=True)
class FeatureSample:
    """What a sample of features says. ``negative``: whether a number is below 0. ``zeros``: the share of numbers that are 0.

    ``size``: the root mean square of the numbers. ``sizes``: that of each column, (width,). ``means``, ``deviations``: the mean
    and the standard deviation of each column; 1 for a column of one number. ``levels``: the mean of a column's numbers that are
    not 0, where it has such. ``codes``: the columns, from 0, whose numbers may be codes: a few whole numbers, of rows that are no
    counts.
    """

    negative: bool
    zeros: float
    size: float
    sizes: Floats
    means: Floats
    deviations: Floats
    levels: Floats
    codes: tuple[int, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether rows are counts, or 0 and 1: what a row has of each word. Rows of long texts then have larger sums.

        Codes beside a column of amounts are none: their sums would be the amounts.
        """
        return not self.negative and self.zeros >= MOSTLY and not self._amounts

    @property
    def _amounts(self) -> bool:
        return bool(self.levels.size and self.levels.max() > ALIKE * np.median(self.levels))

    @property
    def large(self) -> bool:
        """Whether numbers are too large for a network as they are."""
        return self.size > LARGE

    @property
    def uneven(self) -> bool:
        """Whether some columns are so much larger than many others vary that a network learns of the large ones alone."""
        return bool(self.sizes.size and self.sizes.max() > UNEVEN * np.quantile(self.deviations, SMALLER))


def sampled(features: Features) -> FeatureSample:
    """Read some rows of some partitions, which takes 12 MB at most. They are not compared with their checksums; training does.

    Raises RunError for a file that cannot be read.
    """
    table = features.table
    parts = np.unique(np.linspace(0, table.partitions - 1, PLACES).astype(int)).tolist()
    most = max(1, SAMPLED // (PLACES * table.stride))
    blocks = [features.decode(table.read_block(k, 0, min(most, table.size(k)))[:, : features.width]) for k in parts]
    values = np.concatenate(blocks).astype(np.float64)
    if not values.size:
        nothing, one = np.zeros(features.width, np.float32), np.ones(features.width, np.float32)
        return FeatureSample(False, 0.0, 0.0, nothing, nothing, one, nothing[:0])
    squares, means = np.square(values).mean(0), values.mean(0)
    deviations = values.std(0)
    # What is left of a column of one number is rounding.
    deviations[deviations <= 1e-6 * np.sqrt(squares)] = 1.0
    there = (values != 0).mean(0)
    levels = means[there > 0] / there[there > 0]
    columns = (part.astype(np.float32) for part in (np.sqrt(squares), means, deviations, levels))
    sizes = float((values == 0).mean()), float(np.sqrt(squares.mean()))
    found = FeatureSample(bool((values < 0).any()), *sizes, *columns)
    return found if found.counts else replace(found, codes=_codes(values))


def _codes(values: npt.NDArray[np.float64]) -> tuple[int, ...]:
    """Return the columns of ``values`` that have a few different whole numbers, each often."""
    whole = np.flatnonzero((values == np.rint(values)).all(0)).tolist()
    most = min(CODES[-1], len(values) // 4)  # rows of each on average
    return tuple(column for column in whole if CODES[0] <= len(np.unique(values[:, column])) <= most)
