"""Weights and times that stand as arrays of their own in an .npz archive, one number for each edge."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.array_file import ArrayFile
from marius_lite.preprocess.readers.arrays import is_value

ADVICE = "name an array of numbers in the archive, one for each edge"


def open_values(path: Path, options: Options, edges: int) -> dict[str, ArrayFile]:
    """The arrays by role that --edge-weight and --timestamp name. Raises UserError where they do not fit ``edges``."""
    found = {}
    for role, option, key in (("weight", "--edge-weight", options.edge_weight), ("time", "--timestamp", options.timestamp)):
        if key is None:
            continue
        array = ArrayFile(Path(f"{path}:{key}"), ADVICE)
        known = array.dtype.kind in "iuf" and array.dtype.itemsize <= 8
        if not known or not is_value(role, pa.from_numpy_dtype(array.dtype.newbyteorder("="))):
            allowed = "numbers" if role == "weight" else "integers"
            raise UserError(f"{array.name}: {option}: an array of {array.dtype}: must be {allowed}: {ADVICE}")
        if array.shape != (edges,):
            raise UserError(f"{array.name}: {option}: shape {array.shape} where there are {edges} edges: {ADVICE}")
        found[role] = array
    return found
