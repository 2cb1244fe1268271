"""Encode and decode stored features: float32 and float16 as they are, bfloat16 as its bits in uint16, int8 with scales.

int8: value = stored * scale of its column, with scale = (largest magnitude of the column) / 127. So a value is off by at most
half a scale, 1/254 of that magnitude. bfloat16: float32 rounded to 8 significant bits (to nearest, ties to even). So a value is
off by at most 1/256 of itself.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from marius_lite.storage.bfloat16 import BITS, from_bfloat16

FeatureType = Literal["float32", "float16", "bfloat16", "int8"]
STORED: dict[str, np.dtype[Any]] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": BITS,
    "int8": np.dtype(np.int8),
}
LARGEST_INT8 = 127
Rows = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]


def int8_scales(largest: Floats) -> Floats:
    """Return the scale of each column, from its largest magnitude. A column of zeros has scale 1."""
    with np.errstate(under="ignore"):
        scales = largest / np.float32(LARGEST_INT8)
    return np.where(scales > 0, scales, np.float32(1)).astype(np.float32)


def to_int8(values: Floats, scales: Floats) -> npt.NDArray[np.int8]:
    """Return values (n, width) divided by their columns' scales, and rounded. ``values`` is overwritten."""
    values /= scales
    np.rint(values, out=values)
    np.clip(values, -LARGEST_INT8, LARGEST_INT8, out=values)
    return values.astype(np.int8)


def decode(stored: Rows, type: FeatureType, scales: Floats | None = None) -> Floats:
    """Return stored rows (n, width) as float32. ``scales`` (width,) are needed for int8."""
    if type == "bfloat16":
        return from_bfloat16(stored)
    values: Floats = stored.astype(np.float32)
    if scales is not None:
        values *= scales
    return values
