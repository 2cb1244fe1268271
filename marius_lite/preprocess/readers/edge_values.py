"""Arrays beside the edges of an .npz archive: relations, weights and times, one number for each edge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.array_file import ArrayFile
from marius_lite.preprocess.readers.arrays import is_value

EDGES = ("edges", "edge_index")
RELATIONS = ("rel", "edge_type")
"""The usual names of such arrays."""
ADVICE = "name an array of numbers in the archive, one for each edge"


def open_relations(path: Path, names: Sequence[str], edges: int) -> ArrayFile | None:
    """Open the first of `RELATIONS` among the archive's ``names``. Raises UserError where it does not have ``edges`` integers."""
    name = next((name for name in RELATIONS if name in names), None)
    if name is None:
        return None
    array = ArrayFile(Path(f"{path}:{name}"), ADVICE)
    if array.shape != (edges,) or array.dtype.kind not in "iu":
        raise UserError(
            f"{array.name}: the relation of each edge by its name: an array of {array.dtype}, shape {array.shape}, "
            f"where there are {edges} edges: {ADVICE}, or call it something else"
        )
    return array


def open_values(path: Path, options: Options, edges: int) -> dict[str, ArrayFile]:
    """Open the arrays that --edge-weight and --timestamp name, by role. Raises UserError where they do not have ``edges``
    numbers."""
    arrays = {}
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
        arrays[role] = array
    return arrays
