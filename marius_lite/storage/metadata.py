"""Write and read what describes groups and arrays of Zarr v3, for raw arrays: JSON, of the bytes that Zarr's own library writes.

That library takes a third of a short command's time to be imported. Tests compare each document with the one that it writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.files import read_json

DOCUMENT = "zarr.json"


@dataclass(frozen=True, slots=True)
class ArrayDescription:
    """The shape of an array and of its chunks, its type, and whether each chunk file has the bare numbers (``raw``)."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    raw: bool
    attributes: dict[str, Any]


def create_group(path: Path) -> None:
    """Make an empty Zarr v3 group at ``path``. Raises OSError."""
    _write(path, {"attributes": {}, "zarr_format": 3, "node_type": "group"})


def describe_array(
    path: Path, dtype: npt.DTypeLike, shape: Sequence[int], chunks: Sequence[int], attributes: Mapping[str, Any] | None = None
) -> None:
    """Write the metadata of a raw array. Its chunk files are the caller's. Raises OSError."""
    dtype = np.dtype(dtype)
    endian = {"configuration": {"endian": "little"}} if dtype.itemsize > 1 else {}
    _write(
        path,
        {
            "shape": list(shape),
            "data_type": dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": dtype.type(0).item(),
            "codecs": [{"name": "bytes", **endian}],
            "attributes": dict(attributes or {}),
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        },
    )


def read_description(path: Path) -> ArrayDescription:
    """Read what describes the array at ``path``.

    Raises FileNotFoundError, RunError where the disk fails, and one of ValueError, KeyError, TypeError and IndexError for what is
    no document of an array.
    """
    found = read_json(path / DOCUMENT)
    if found["zarr_format"] != 3 or found["node_type"] != "array":
        raise ValueError("not an array of Zarr v3")
    codecs, grid = found["codecs"], found["chunk_grid"]
    raw = [codec["name"] for codec in codecs] == ["bytes"] and grid.get("name", "regular") == "regular"
    raw = raw and codecs[0].get("configuration", {}).get("endian", "little") == "little"
    chunks = grid["configuration"]["chunk_shape"]
    dtype = np.dtype(found["data_type"]).newbyteorder("<")
    return ArrayDescription(tuple(found["shape"]), tuple(chunks), dtype, raw, found["attributes"])


def _write(path: Path, document: Mapping[str, Any]) -> None:
    """Let the document appear whole or not at all. It is not synced."""
    path.mkdir(parents=True, exist_ok=True)
    final = path / DOCUMENT
    temporary = final.with_name(f"{DOCUMENT}.tmp")
    try:
        temporary.write_bytes(json.dumps(document, indent=2).encode())
        os.replace(temporary, final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
