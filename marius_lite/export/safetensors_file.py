"""safetensors files: a header of JSON that says where each tensor's bytes are, then the bytes.

The library writes tensors that are whole in memory. So the header, whose form it documents, is written here, and the columns of
each block go to their places: https://huggingface.co/docs/safetensors
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.export.format import ExportFormat, Names
from marius_lite.export.raw_ids import ids_file, write_ids

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks

TYPES = {"float32": "F32", "float64": "F64", "int64": "I64", "int32": "I32", "uint8": "U8", "bool": "BOOL"}
ALIGNED = 8


def write_safetensors(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write one file, and beside it one of raw ids where these are text."""
    places: dict[str, int] = {}
    with ExitStack() as opened:
        file = opened.enter_context((folder / f"{name}.safetensors").open("wb"))
        ids_output = None
        for ids, columns in blocks:
            tensors: dict[str, npt.NDArray[Any]] = dict(columns)
            if pa.types.is_integer(ids.type):
                tensors["raw_id"] = ids.to_numpy()
            elif ids_output is None:
                ids_output = opened.enter_context(ids_file(folder, name, ids.type, rows))
            if not places:
                header, places = _header(tensors, rows)
                file.write(header)
            for key, values in tensors.items():
                file.seek(places[key])
                file.write(np.ascontiguousarray(values).data)
                places[key] += values.nbytes
            if ids_output is not None:
                write_ids(ids_output, ids)


def _header(tensors: dict[str, npt.NDArray[Any]], rows: int) -> tuple[bytes, dict[str, int]]:
    """Return the header, and where in the file each tensor begins. The widest numbers come first, so that all are aligned."""
    described: dict[str, Any] = {"__metadata__": {"format": "np"}}
    places, at = {}, 0
    for key in sorted(tensors, key=lambda key: -tensors[key].itemsize):
        values = tensors[key]
        size = rows * values[:1].nbytes
        described[key] = {"dtype": TYPES[values.dtype.name], "shape": [rows, *values.shape[1:]], "data_offsets": [at, at + size]}
        places[key], at = at, at + size
    text = json.dumps(described).encode()
    text += b" " * (-len(text) % ALIGNED)
    header = len(text).to_bytes(8, "little") + text
    return header, {key: len(header) + place for key, place in places.items()}


FORMAT = ExportFormat(write_safetensors)
