"""An index on disk, ``RUN/index/<measure>``: whole or absent, and bound to the checkpoint that it was made from.

index.json     what it is and which checkpoint it belongs to, the sizes and checksums of the other files, a checksum of itself
learned        what faiss has learned: centroids, and the quantizer of codes
counts         how many nodes each list has, int64
codes, nodes   the codes and the node ids (int64) of all lists, list after list
groups         checksums of groups of rows (`storage.row_groups`), uint32
names, name_ends   the raw ids of all nodes (`search.node_names`); indexes of earlier versions have none
vectors/       an encoder's vectors, which are nowhere else; a Zarr array like a checkpoint's
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite import files
from marius_lite._native import crc32c
from marius_lite.errors import RunError, UserError
from marius_lite.sealed import checksum_of
from marius_lite.tasks.checkpoint import Checkpoint

FOLDER, RECORD, VECTORS = "index", "index.json", "vectors"
FORMAT_VERSION = 1
REDO = "`marius-lite index` makes it again"


@dataclass(frozen=True)
class IndexOnDisk:
    """The folder of one index, and its record."""

    path: Path
    record: dict[str, Any]

    @property
    def bytes(self) -> int:
        """The bytes of its files, without an encoder's vectors."""
        return sum(file["size"] for file in self.record["files"].values())

    def array(self, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Read a whole file, compared with its checksum. Raises RunError where it is damaged."""
        (data,) = self.parts(name, dtype, [self.record["files"][name]["size"] // np.dtype(dtype).itemsize])
        return data

    def parts(self, name: str, dtype: npt.DTypeLike, counts: list[int]) -> Iterator[npt.NDArray[Any]]:
        """Yield so many numbers of a file at a time. Raises RunError where it is damaged, at the end at the latest."""
        path, checksum = self.path / name, 0
        with files.disk_errors(path), open(path, "rb") as file:
            for count in counts:
                part = np.empty(count, dtype)
                if file.readinto(part.view(np.uint8).data) != part.nbytes:
                    raise RunError(f"{path}: ends before what it should hold: {REDO}")
                checksum = crc32c(part.view(np.uint8), checksum)
                yield part
        if checksum != self.record["files"][name]["checksum"]:
            raise RunError(f"{path}: does not match its checksum, the file was changed or is damaged: {REDO}")


class IndexWriter:
    """Writes the files of a new index into the folder ``path``. Nobody looks at them before `publish`."""

    def __init__(self, path: Path):
        self.path = path
        self._files: dict[str, dict[str, int]] = {}

    def write(self, name: str, parts: Iterator[npt.NDArray[Any]]) -> None:
        """Write arrays one after the other into a file. Raises RunError."""
        size = checksum = 0
        with files.disk_errors(self.path / name), open(self.path / name, "wb") as file:
            for part in parts:
                flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
                file.write(flat.data)
                size, checksum = size + len(flat), crc32c(flat, checksum)
        self._files[name] = {"size": size, "checksum": int(checksum)}

    def finished(self, facts: dict[str, Any]) -> IndexOnDisk:
        """Write the record, and return the index."""
        record = {"format_version": FORMAT_VERSION, **facts, "files": self._files}
        sealed = {**record, "checksum": checksum_of(record)}
        files.write_atomic(self.path / RECORD, json.dumps(sealed, indent=1).encode())
        return IndexOnDisk(self.path, record)

    def publish(self, place: Path) -> None:
        """Put the folder at ``place``, instead of an older one. A crash leaves the old index, none, or the new one."""
        aside = place.with_name(f".{place.name}.old")
        with files.disk_errors(place):
            files.sync_tree(self.path)
            files.remove_tree(aside)
            if place.exists():
                os.rename(place, aside)
            files.publish(self.path, place)
            files.remove_tree(aside)


def identity(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what tells a checkpoint from others: its name, and a checksum of its state, which has those of its rows."""
    state = np.frombuffer(checkpoint.state.to_json(), np.uint8)
    return {"checkpoint": checkpoint.path.name, "state": int(crc32c(state))}


def place_of(run: Path, measure: str) -> Path:
    """Return where a run's index for a measure is."""
    return run / FOLDER / measure


def read_index(run: Path, measure: str) -> IndexOnDisk | None:
    """Read the record of a run's index; None where there is none. Raises UserError where it is damaged or of another version."""
    path = place_of(run, measure)
    try:
        record = files.read_json(path / RECORD)
        version = record["format_version"]
        if version != FORMAT_VERSION:
            raise UserError(f"{path}: index format {version}, this program reads {FORMAT_VERSION}: {REDO}")
        if record.pop("checksum", None) != checksum_of(record):
            raise UserError(f"{path / RECORD}: damaged, its checksum is wrong or missing: {REDO}")
    except files.ABSENT:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path / RECORD}: damaged: {error}: {REDO}") from None
    return IndexOnDisk(path, record)


def is_stale(index: IndexOnDisk, checkpoint: Checkpoint) -> bool:
    """Return whether an index was made from another checkpoint."""
    return any(index.record[key] != value for key, value in identity(checkpoint).items())
