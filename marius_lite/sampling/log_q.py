"""The log-Q correction (Bengio and Senecal, 2008; Yi et al., RecSys 2019): lowers the scores of nodes that are drawn often."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def log_q(ends: npt.NDArray[np.uint32], rows: int, nodes: int, degree_fraction: float) -> Floats:
    """The log of how likely each row is drawn, relative to a uniform draw among all ``nodes`` resident nodes: float32 (rows,).

    ``degree_fraction`` of the draws are taken from ``ends``, the rows at that end of a window's edges. A row that is never
    drawn counts as one that appears there once.
    """
    share = np.bincount(ends, minlength=rows).astype(np.float32)
    share *= degree_fraction * nodes / max(1, len(ends))
    share += 1 - degree_fraction
    np.maximum(share, degree_fraction * nodes / max(1, len(ends)), out=share, where=share == 0)
    return np.log(share, out=share)
