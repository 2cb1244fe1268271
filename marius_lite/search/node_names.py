"""The raw ids of all nodes in an index folder, so that a few are found, or given, without reading those of all nodes.

names          the raw ids in order of node id: int64, or the bytes of texts one after the other
name_ends      where each text ends, int64

Where ids follow the hashes of raw ids (see `preprocess.ids.numbering`), a raw id is found by a binary search for its hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite._native import crc32c
from marius_lite.errors import RunError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.ids import as_raw, hash_raw_ids, order_key, string_buffers
from marius_lite.search.index_folder import REDO, IndexOnDisk, IndexWriter
from marius_lite.types import Ids

NAMES, ENDS = "names", "name_ends"
AT_ONCE = 1 << 18  # nodes
CHECKED = 1 << 22  # bytes at a time
Flat = npt.NDArray[Any]


def write_names(writer: IndexWriter, dataset: Dataset) -> None:
    """Write the raw ids of a dataset's nodes."""
    if dataset.manifest.ids == "int":
        writer.write(NAMES, (block.to_numpy() for block in _blocks(dataset)))
        return
    writer.write(NAMES, (_bytes(block) for block in _blocks(dataset)))
    writer.write(ENDS, _ends(dataset))


def names_bytes(dataset: Dataset) -> int:
    """Return what they take, about: not less where texts are stored without compression."""
    nodes = dataset.manifest.nodes
    if dataset.manifest.ids == "int":
        return 8 * nodes
    return 8 * nodes + sum(path.stat().st_size for path in dataset.name_files if path.exists())


class NodeNames:
    """The raw ids of the nodes of ``dataset``, read where they are asked for. `open` makes one."""

    def __init__(self, dataset: Dataset, names: Flat, ends: Flat | None):
        self._kind, self._key, self._names, self._ends = dataset.manifest.ids, order_key(dataset.manifest.seed), names, ends
        self._stretches = [each.nodes for each in dataset.manifest.names or ()] or [dataset.manifest.nodes]

    @classmethod
    def open(cls, index: IndexOnDisk, dataset: Dataset) -> NodeNames | None:
        """Open those in an index folder; None where it is of an earlier version. Raises RunError where they are damaged."""
        if NAMES not in index.record["files"]:
            return None
        text = dataset.manifest.ids == "str"
        return cls(
            dataset, _mapped(index, NAMES, np.uint8 if text else np.int64), _mapped(index, ENDS, np.int64) if text else None
        )

    def raw(self, nodes: Ids) -> pa.Array:
        """Return the raw ids of nodes, int64 or string."""
        if self._ends is None:
            return pa.array(self._names[nodes])
        ends, begins = self._ends[nodes], np.where(nodes > 0, self._ends[nodes - 1], 0)
        return pa.array([self._names[begin:end].tobytes().decode() for begin, end in zip(begins, ends)], pa.string())

    def lookup(self, raw: list[Any]) -> Ids:
        """Return the ids of the nodes with these raw ids; -1 for those that were not found, which may be there where ids do not
        follow the hashes."""
        found, wanted = np.full(len(raw), -1, np.int64), as_raw(raw, self._kind)
        if not len(raw):
            return found
        hashes = hash_raw_ids(wanted, self._key)
        for begin, end in zip([0, *self._stretches], self._stretches):
            low, high = np.full(len(raw), begin), np.full(len(raw), end)
            while (open_ := np.flatnonzero(low < high)).size:
                middle = (low[open_] + high[open_]) // 2
                before = hash_raw_ids(self.raw(middle), self._key) < hashes[open_]
                low[open_] = np.where(before, middle + 1, low[open_])
                high[open_] = np.where(before, high[open_], middle)
            there = np.flatnonzero(low < end)
            equal = np.array(self.raw(low[there]).to_pylist(), object) == np.array(wanted.to_pylist(), object)[there]
            found[there[equal.astype(bool)]] = low[there[equal.astype(bool)]]
        return found


def _blocks(dataset: Dataset) -> Iterator[pa.Array]:
    for low in range(0, dataset.manifest.nodes, AT_ONCE):
        yield dataset.raw_ids(low, min(low + AT_ONCE, dataset.manifest.nodes))


def _bytes(block: pa.Array) -> npt.NDArray[np.uint8]:
    places, data = string_buffers(block)
    return data[places[0] : places[-1]]


def _ends(dataset: Dataset) -> Iterator[Ids]:
    before = 0
    for block in _blocks(dataset):
        places, _ = string_buffers(block)
        yield before + (places[1:] - places[0]).astype(np.int64)
        before += int(places[-1] - places[0])


def _mapped(index: IndexOnDisk, name: str, dtype: npt.DTypeLike) -> Flat:
    """Return a file's numbers, read from disk where they are used, once they were compared with their checksum."""
    path, wanted = index.path / name, index.record["files"][name]
    if not wanted["size"]:
        return np.empty(0, dtype)
    try:
        mapped = np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}: {REDO}") from error
    checksum = 0
    for low in range(0, len(mapped), CHECKED):
        checksum = crc32c(np.array(mapped[low : low + CHECKED]), checksum)
    if (len(mapped), checksum) != (wanted["size"], wanted["checksum"]):
        raise RunError(f"{path}: does not match its checksum, the file was changed or is damaged: {REDO}")
    return mapped.view(dtype)
