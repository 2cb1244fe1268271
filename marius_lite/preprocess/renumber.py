"""Raw ids to node ids and relation ids.

While files are read, ids are numbered in order of first sight (provisional ids). Then nodes are put in the
order of (keyed hash of the raw id, raw id), a random permutation that depends on the data and the seed only:
partitions, being ranges of node ids, are then random too. Relations are put in the order of their raw ids.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite._native import IntIdTable, StringIdTable
from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind, node_schema, relation_schema
from marius_lite.graph.partitioning import Partitioning
from marius_lite.seeds import seed_for

Ids = npt.NDArray[np.uint64]
MOST_RELATIONS = 1 << 30
SLICE = 1 << 20
CANONICAL_INT = re.compile(r"0|-?[1-9][0-9]{0,17}")


class NodeIds:
    """The dictionary of node ids, in memory."""

    def __init__(self, kind: IdKind, seed: int):
        self.kind = kind
        key = seed_for(seed, "node-order")
        self._table: Any = IntIdTable(key) if kind == "int" else StringIdTable(key)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def bytes(self) -> int:
        """Memory the dictionary takes."""
        return int(self._table.bytes)

    def add(self, raw: pa.Array) -> Ids:
        """Provisional ids of raw ids (int64, or string without nulls)."""
        out = np.empty(len(raw), np.uint64)
        if self.kind == "int":
            self._table.add(np.ascontiguousarray(raw.to_numpy()), out)
        elif len(raw):
            self._table.add(*string_buffers(raw), out)
        return out

    def rank(self, threads: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """(order, rank): the provisional id of each node id, and the node id of each provisional id."""
        dtype = id_dtype(len(self))
        order, rank = np.empty(len(self), dtype), np.empty(len(self), dtype)
        self._table.rank(order, rank, threads)
        return order, rank

    def hash(self, first: int, key: int, count: int) -> Ids:
        """64-bit hashes, under ``key``, of the raw ids of ``count`` provisional ids from ``first`` on."""
        out = np.empty(count, np.uint64)
        self._table.hash(first, key, out)
        return out

    def take(self, provisional: npt.NDArray[Any]) -> pa.Array:
        """Raw ids of provisional ids."""
        ids = provisional.astype(np.uint64)
        if self.kind == "int":
            raw = np.empty(len(ids), np.int64)
            self._table.take(ids, raw)
            return pa.array(raw)
        return take_strings(self._table, ids)

    def write(self, path: Path, order: npt.NDArray[Any], partitioning: Partitioning) -> None:
        """``nodes.parquet``: node_id and raw_id, one row group per partition."""
        schema = node_schema(self.kind)
        with pq.ParquetWriter(
            path, schema, compression="zstd", use_dictionary=False, store_schema=False
        ) as writer:
            for k in range(partitioning.partitions):
                part = partitioning.range(k)
                slices = [range(at, min(at + SLICE, part.stop)) for at in range(part.start, part.stop, SLICE)]
                raw = pa.chunked_array(
                    [self.take(order[s.start : s.stop]) for s in slices], schema.field("raw_id").type
                )
                ids = pa.array(np.arange(part.start, part.stop, dtype=np.int64))
                writer.write_table(pa.table([ids, raw], schema=schema), row_group_size=len(part))


class RelationIds:
    """The dictionary of relation ids: always text while reading, integers at the end if all of them are."""

    def __init__(self, seed: int, force_text: bool):
        self._table = StringIdTable(seed_for(seed, "relations"))
        self._force_text = force_text

    def __len__(self) -> int:
        return len(self._table)

    def add(self, rel: pa.DictionaryArray) -> npt.NDArray[np.uint32]:
        """Provisional ids of a dictionary<string> column."""
        ids = np.empty(len(rel.dictionary), np.uint64)
        if len(ids):
            self._table.add(*string_buffers(rel.dictionary), ids)
        if len(self) > MOST_RELATIONS:
            raise UserError(
                f"more than {MOST_RELATIONS} distinct relations: is the relation column the right one "
                "(--columns)?"
            )
        places: npt.NDArray[np.int32] = rel.indices.to_numpy()
        return ids.astype(np.uint32)[places]

    def finish(self) -> tuple[IdKind, pa.Array, npt.NDArray[np.uint32]]:
        """(kind, raw ids in their order, relation id of each provisional id)."""
        raw: list[str] = take_strings(self._table, np.arange(len(self), dtype=np.uint64)).to_pylist()
        kind: IdKind = "str"
        values: list[Any] = raw
        if not self._force_text and raw and all(CANONICAL_INT.fullmatch(name) for name in raw):
            kind, values = "int", [int(name) for name in raw]
        else:
            values = [name.encode() for name in raw]
        order = sorted(range(len(values)), key=values.__getitem__)
        rank = np.empty(len(order), np.uint32)
        rank[order] = np.arange(len(order), dtype=np.uint32)
        ordered = [values[i] if kind == "int" else raw[i] for i in order]
        return kind, pa.array(ordered, relation_schema(kind).field("raw_id").type), rank


def write_relations(path: Path, kind: IdKind, raw: pa.Array, counts: npt.NDArray[np.int64]) -> None:
    """``relations.parquet``: relation_id, raw_id, and how many stored edges each has."""
    ids = pa.array(np.arange(len(raw), dtype=np.int64))
    table = pa.table([ids, raw, pa.array(counts)], schema=relation_schema(kind))
    pq.write_table(table, path, compression="zstd", use_dictionary=False, store_schema=False)


def id_dtype(count: int) -> type[np.unsignedinteger[Any]]:
    """The smallest dtype we use for ids below ``count``."""
    return np.uint32 if count <= 1 << 32 else np.uint64


def string_buffers(values: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """(offsets, bytes) of a string array of at least one value."""
    _, offsets, data = values.buffers()
    places = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    return places, np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)


def take_strings(table: Any, ids: Ids) -> pa.Array:
    """The strings of provisional ids, as an Arrow string array."""
    offsets = np.empty(len(ids) + 1, np.int64)
    table.offsets(ids, offsets)
    data = np.empty(int(offsets[-1]), np.uint8)
    table.take(ids, data)
    large = pa.LargeStringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(data))
    return large.cast(pa.string())
