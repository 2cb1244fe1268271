"""Write and read the metadata of Zarr v3 groups and arrays: those with raw little-endian chunks, which are all that this program
makes.

The documents are those that the library zarr would write, byte for byte. It is not asked, because to load it takes longer than
the rest of many a command.
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
BESIDE = f"{DOCUMENT}.partial"


@dataclass(frozen=True)
class ArrayDescription:
    """What the document of an array says."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    codecs: tuple[str, ...]
    attributes: dict[str, Any]

    @property
    def raw(self) -> bool:
        """Whether chunk files hold the elements and nothing else."""
        return self.codecs == ("bytes",)


def create_group(path: Path) -> None:
    """Make an empty Zarr v3 group at ``path``. Raises OSError."""
    _write(path, {"attributes": {}, "zarr_format": 3, "node_type": "group"})


def describe_column(path: Path, dtype: npt.DTypeLike, length: int, chunk: int) -> None:
    """Write the metadata of a one-dimensional array of ``length`` elements, ``chunk`` in each file. Raises OSError."""
    describe_array(path, dtype, (length,), (chunk,))


def describe_array(
    path: Path, dtype: npt.DTypeLike, shape: Sequence[int], chunks: Sequence[int], attributes: Mapping[str, Any] | None = None
) -> None:
    """Write the metadata of an array of numbers, ``chunks`` elements of each dimension in a file. Raises OSError."""
    dtype = np.dtype(dtype)
    order = {"configuration": {"endian": "little"}} if dtype.itemsize > 1 else {}
    _write(
        path,
        {
            "shape": list(shape),
            "data_type": dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": dtype.type(0).item(),
            "codecs": [{"name": "bytes", **order}],
            "attributes": dict(attributes or {}),
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        },
    )


def _write(path: Path, document: dict[str, Any]) -> None:
    """Write a document. A killed program leaves none, or a whole one. It is synced with the rest of its folder."""
    path.mkdir(parents=True, exist_ok=True)
    (path / BESIDE).write_text(json.dumps(document, indent=2))
    os.replace(path / BESIDE, path / DOCUMENT)


def read_description(path: Path) -> ArrayDescription:
    """Read what `describe_array` or another writer of Zarr v3 says of the array at ``path``.

    Raises ValueError for anything else, and what `files.read` raises.
    """
    found = read_json(path / DOCUMENT)
    try:
        if found["zarr_format"] != 3 or found["node_type"] != "array":
            raise ValueError(f"{DOCUMENT} describes no array of Zarr v3")
        codecs = tuple(str(codec["name"]) for codec in found["codecs"])
        shape, chunks = (_lengths(each) for each in (found["shape"], found["chunk_grid"]["configuration"]["chunk_shape"]))
        dtype = np.dtype(found["data_type"]).newbyteorder("<")
        return ArrayDescription(shape, chunks, dtype, codecs, dict(found.get("attributes") or {}))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{DOCUMENT} is no description of an array: {type(error).__name__}: {error}") from error


def _lengths(given: Any) -> tuple[int, ...]:
    if not isinstance(given, list) or not all(type(each) is int and each >= 0 for each in given):
        raise ValueError(f"{DOCUMENT} has {given!r} where lengths should be")
    return tuple(given)
