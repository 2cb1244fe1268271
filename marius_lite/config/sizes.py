"""Sizes of what is stored, for those who plan it and those who store it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

STRIDE_STEP = 16
"""Bytes: a row's stride is a multiple of it."""
LISTED_NODE_BYTES = 8 + 4
"""Bytes of a resident node beside its in-edges: where its list ends, and its in-degree."""


def known_dtype(classes: int) -> np.dtype[Any]:
    """Return the smallest type for a class counted from 1, or 0."""
    return np.min_scalar_type(classes)


def padded_width(width: int, dtype: npt.DTypeLike) -> int:
    """Return the columns of a row of ``width`` columns, padded so that its stride is a multiple of STRIDE_STEP."""
    step = STRIDE_STEP // np.dtype(dtype).itemsize
    return -(-width // step) * step
