"""Find out of what kind the features of nodes are: counts, as of words in a text, or measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
OFFSET = 1.0
"""How many deviations the means of half of the columns are from 0, or more, where what they have in common hides what differs."""
TAILED = 2.5
"""How many times as large as the middle four fifths of its numbers suggest the deviation of a column is that has a long tail. It
is 1 for a normal distribution, 1.2 for an exponential, 2.5 for a lognormal whose logarithms deviate by 1.3."""
MIDDLE = (0.1, 0.9)
NORMAL = 2.563
"""How many deviations of a normal distribution are between these quantiles."""
FEWEST = 20
"""Different numbers but 0 that a column with a long tail has, at least."""
UNEVEN = 30.0
"""How many times as large as the deviation of a column another column is, where a network hardly sees the first beside it."""
SMALLER = 0.25
"""The share of columns that vary least, which must be hard to see. Single ones may hold next to nothing."""
CODES = range(3, 257)
"""How many different whole numbers a column has whose numbers may be codes of kinds. Two are as good as 0 and 1."""
LARGEST_CODE = 1 << 24
"""The size above which float32 rounds whole numbers: everything is whole there."""
MOST_CODES = 1_024
"""Codes of all columns together, at most. Columns with fewer come first."""
Codes = Mapping[int, Sequence[int]]
"""The codes of columns, ascending; as `model.codes`."""


@dataclass(frozen=True)
class FeatureSample:
    """What a sample of features says. ``negative``: whether a number is below 0. ``zeros``: the share of numbers that are 0.

    ``size``: the root mean square of the numbers. ``sizes``: that of each column, (width,). ``means``, ``deviations``: the mean
    and the standard deviation of each column; 1 for a column of one number. ``levels``: the mean of a column's numbers that are
    not 0, where it has such. ``codes``: those of columns whose numbers may be codes: a few whole numbers, of rows that are no
    counts. ``units``: for each column with a long tail what its logarithms are taken beside, the size of its small numbers; 0 for
    others.
    """

    negative: bool
    zeros: float
    size: float
    sizes: Floats
    means: Floats
    deviations: Floats
    levels: Floats
    units: Floats
    codes: Codes = field(default_factory=dict)

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
    def off_centre(self) -> bool:
        """Whether columns are far from 0 beside what their numbers differ by."""
        return bool(self.means.size and np.median(np.abs(self.means) / self.deviations) > OFFSET)

    @property
    def tailed(self) -> bool:
        """Whether some column has a few numbers so large that all others are alike beside them."""
        return not self.counts and bool((self.units > 0).any())

    @property
    def uneven(self) -> bool:
        """Whether some columns are so much larger than many others vary that a network learns of the large ones alone."""
        return bool(self.sizes.size and self.sizes.max() > UNEVEN * np.quantile(self.deviations, SMALLER))


def sampled(features: Features, logs: bool = False) -> FeatureSample:
    """Read some rows of some partitions, which takes 20 MB at most. They are not compared with their checksums; training does.

    ``logs``: the sample is of what `logarithms` makes of them. Raises RunError for a file that cannot be read.
    """
    table = features.table
    parts = np.unique(np.linspace(0, table.partitions - 1, PLACES).astype(int)).tolist()
    most = max(1, SAMPLED // (PLACES * table.stride))
    blocks = [features.decode(table.read_block(k, 0, min(most, table.size(k)))[:, : features.width]) for k in parts]
    values = np.concatenate(blocks).astype(np.float64)
    if not values.size:
        nothing, one = np.zeros(features.width, np.float32), np.ones(features.width, np.float32)
        return FeatureSample(False, 0.0, 0.0, nothing, nothing, one, nothing[:0], nothing)
    units = np.array([_unit(column) for column in values.T], np.float32)
    if logs:
        values = logarithms(values, units)
    squares, means = np.square(values).mean(0), values.mean(0)
    deviations = values.std(0)
    # What is left of a column of one number is rounding.
    deviations[deviations <= 1e-6 * np.sqrt(squares)] = 1.0
    there = (values != 0).mean(0)
    levels = means[there > 0] / there[there > 0]
    zeros, size = float((values == 0).mean()), float(np.sqrt(squares.mean()))
    sizes, means, deviations, levels = (part.astype(np.float32) for part in (np.sqrt(squares), means, deviations, levels))
    found = FeatureSample(bool((values < 0).any()), zeros, size, sizes, means, deviations, levels, units)
    return found if found.counts else replace(found, codes=_codes(values))


def logarithms(values: npt.NDArray[Any], units: Floats) -> npt.NDArray[Any]:
    """Return numbers (n, width) whose columns with a unit are sign(x) log(1 + |x| / unit), the others as they are."""
    there = units > 0
    out = values.copy()
    part, beside = values[:, there], units[there].astype(values.dtype)
    out[:, there] = np.copysign(np.log(np.abs(part) + beside) - np.log(beside), part)
    return out


def flags(values: npt.NDArray[Any], codes: Codes) -> Floats:
    """Return what `nn.inputs.CodeColumns` puts beside numbers (n, width): a 0 or 1 for each code, (n, codes)."""
    columns = [values[:, column, None] == np.asarray(codes[column]) for column in sorted(codes)]
    return np.concatenate([np.zeros((len(values), 0), np.float32), *columns], 1).astype(np.float32)


def _unit(column: npt.NDArray[np.float64]) -> float:
    """Return the size of a column's small numbers, where the column has a long tail, else 0. Nothing is said of zeros."""
    numbers = column[column != 0]
    if len(numbers) < FEWEST:
        return 0.0
    low, high = np.quantile(numbers, MIDDLE)
    if numbers.std() <= TAILED * (high - low) / NORMAL or len(np.unique(numbers)) < FEWEST:
        return 0.0
    signed = bool((numbers < 0).any())  # around 0, a unit that is much smaller would tell little but signs
    return float(np.quantile(np.abs(numbers), 0.5 if signed else MIDDLE[0]))


def _codes(values: npt.NDArray[np.float64]) -> Codes:
    """Return the codes of columns of ``values`` that have a few different whole numbers, each often."""
    most = min(CODES[-1], len(values) // 4)  # rows of each on average
    whole = ((values == np.rint(values)) & (np.abs(values) <= LARGEST_CODE)).all(0)
    found = {column: np.unique(values[:, column]) for column in np.flatnonzero(whole).tolist()}
    few = sorted((len(codes), column) for column, codes in found.items() if CODES[0] <= len(codes) <= most)
    kept = [column for (_, column), total in zip(few, np.cumsum([count for count, _ in few])) if total <= MOST_CODES]
    return {column: found[column].astype(int).tolist() for column in sorted(kept)}
