"""From the first ids of nodes to their last ones: training nodes come first, then the order of a partitioner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from marius_lite import files
from marius_lite.graph.ids import IdKind, node_schema
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.spool import Ids
from marius_lite.preprocess.ids.id_runs import INT_BYTES, IdRun
from marius_lite.preprocess.ids.numbering import ids_from

GROUP_ROWS, GROUP_BYTES = 1 << 20, 64 << 20  # of nodes.parquet: no row group is larger, or crosses partitions
SLICE = 1 << 20
WORD = 64
MOST_STRETCHES = 128  # of ids, each with an open file
MOST_STRETCH_BYTES = 1 << 30  # Arrow's strings have offsets of 32 bits
COPIES = 2  # in memory of the raw ids of a stretch, while they are put in order
PLACE_BYTES = 16  # beside a raw id: its place, where it ends
ROW_BYTES, TYPE_BYTES = 6, 2  # of a node in nodes.parquet, beside its raw id: at most, as far as we saw; of its type
TAKEN_AT_ONCE = 1 << 16
Codes = npt.NDArray[np.uint8]  # the split of each node, by id
Types = Callable[[int, int], pa.DictionaryArray]  # of node ids [start, stop): a dictionary of the names that occur, in order


class TrainingFirst:
    """Gives training nodes the first ids. Within both groups the order stays. Takes a quarter byte a node."""

    def __init__(self, codes: Codes):
        padded = np.zeros(-(-len(codes) // WORD) * WORD, bool)
        padded[: len(codes)] = codes == 1
        self._words: npt.NDArray[np.uint64] = np.packbits(padded, bitorder="little").view(np.uint64)
        counts = np.bitwise_count(self._words).astype(np.int64)
        self._before = np.cumsum(counts) - counts
        self._training = int(counts.sum())

    def apply(self, ids: Ids) -> Ids:
        word, bit = ids // WORD, (ids % WORD).astype(np.uint64)
        bits = self._words[word]
        before = self._before[word] + np.bitwise_count(bits & ((np.uint64(1) << bit) - np.uint64(1)))
        training = (bits >> bit) & np.uint64(1) == 1
        places: Ids = np.where(training, before, self._training + ids.astype(np.int64) - before).astype(ids.dtype)
        return places


@dataclass(frozen=True)
class Renumbering:
    """Turns first ids into last ones: by ``training``, then by ``places`` (a file of the new id of each), where given."""

    training: TrainingFirst | None = None
    places: Path | None = None
    dtype: type[np.unsignedinteger[Any]] = np.uint32

    @property
    def changes(self) -> bool:
        return self.training is not None or self.places is not None

    def apply(self, ids: Ids) -> Ids:
        """Return the last id of each first id, of the same dtype. Reads all of ``places``: for many calls use `open`."""
        return self.open()(ids)

    def open(self) -> Callable[[Ids], Ids]:
        """Return a function that does what `apply` does. It holds ``places`` in memory as long as it lives: an id for each node,
        a quarter of what it took to find them."""
        places = None if self.places is None else files.read_numbers(self.places, self.dtype)

        def apply(ids: Ids) -> Ids:
            if not self.changes:
                return ids
            out = np.empty_like(ids)
            for at in range(0, len(ids), SLICE):
                part = ids[at : at + SLICE]
                if self.training is not None:
                    part = self.training.apply(part)
                out[at : at + SLICE] = part if places is None else places[part]
            return out

        return apply

    def blocks(self, nodes: int) -> Iterator[tuple[int, Ids]]:
        """Return, block by block, (the first of the block's first ids, the last id of each node in it)."""
        apply = self.open()
        for first in range(0, nodes, SLICE):
            yield first, apply(ids_from(first, min(SLICE, nodes - first), self.dtype))


def write_nodes(
    path: Path,
    raw_ids: IdRun,
    renumbering: Renumbering,
    partitioning: Partitioning,
    work: Path,
    memory: int,
    types: Types | None = None,
) -> None:
    """Write ``nodes.parquet``, see `write_names`. Raw ids whose order changes are sorted in ``work``, ``memory`` bytes at a
    time."""
    if not renumbering.changes:
        return write_names(path, raw_ids.kind, raw_ids.read(), partitioning, types)
    schema = pa.schema([("place", pa.uint64()), node_schema(raw_ids.kind).field("raw_id")])

    def placed(apply: Callable[[Ids], Ids]) -> Iterator[pa.RecordBatch]:
        first = 0
        for raw in raw_ids.read():
            ids = apply(ids_from(first, len(raw), renumbering.dtype))
            yield pa.record_batch([pa.array(ids.astype(np.uint64)), raw], schema=schema)
            first += len(raw)

    size = raw_ids.bytes + PLACE_BYTES * raw_ids.count
    room = max(1, min(memory, MOST_STRETCH_BYTES) // COPIES)
    names = _in_order(placed(renumbering.open()), range(raw_ids.count), size, room, work)
    write_names(path, raw_ids.kind, names, partitioning, types)


def names_bytes(nodes: int, size: int, typed: bool = False) -> int:
    """What ``nodes.parquet`` takes at most; ``size``: bytes of all raw ids."""
    return size + nodes * (ROW_BYTES + TYPE_BYTES * typed)


def dealt_bytes(nodes: int, size: int) -> int:
    """What raw ids of ``size`` bytes take in ``work`` while they are put in order."""
    return size + nodes * PLACE_BYTES


def write_names(
    path: Path, kind: IdKind, blocks: Iterator[pa.Array], partitioning: Partitioning, types: Types | None = None, begin: int = 0
) -> None:
    """Write ``nodes.parquet``: columns node_id, raw_id and, where there are ``types``, type. Rows of a partition are one row
    group, or several where one would be too large. Integers are stored as differences in few bits, which is smaller than what
    zstd makes of them, and read several times as fast.

    ``blocks``: raw ids in order of node id, from node ``begin`` on. How they are cut into blocks does not change the file."""
    schema, typed = node_schema(kind, types is not None), types is not None
    dictionaries: Any = ["type"] if typed else False
    integers = dict.fromkeys(["node_id", *(["raw_id"] if kind == "int" else [])], "DELTA_BINARY_PACKED")
    packing = {field.name: "none" if field.name in integers else "zstd" for field in schema}
    with pq.ParquetWriter(
        path, schema, compression=packing, column_encoding=integers, use_dictionary=dictionaries, store_schema=typed
    ) as writer:
        waiting: list[pa.Array] = []
        first, count, size = begin, 0, 0
        for block in blocks:
            while len(block):
                end = min(first + GROUP_ROWS, (first // partitioning.rows + 1) * partitioning.rows, partitioning.nodes)
                part = _fitting(block[: end - first - count], GROUP_BYTES - size)
                block = block[len(part) :]
                waiting.append(part)
                count, size = count + len(part), size + _bytes(part)
                if first + count == end or size >= GROUP_BYTES:
                    columns = [pa.array(np.arange(first, first + count, dtype=np.int64)), pa.concat_arrays(waiting)]
                    if types is not None:
                        columns.append(types(first, first + count))
                    writer.write_table(pa.table(columns, schema=schema), row_group_size=count)
                    first, count, size, waiting = first + count, 0, 0, []


def _bytes(raw: pa.Array) -> int:
    return int(pc.sum(pc.binary_length(raw)).as_py()) if pa.types.is_string(raw.type) else INT_BYTES * len(raw)


def _fitting(raw: pa.Array, room: int) -> pa.Array:
    """Return the ids from the beginning up to the one that fills ``room`` bytes."""
    if _bytes(raw) < room:
        return raw
    step = pc.binary_length(raw).to_numpy() if pa.types.is_string(raw.type) else np.full(len(raw), INT_BYTES)
    return raw[: 1 + int(np.searchsorted(np.cumsum(step, dtype=np.int64), room))]


def _in_order(batches: Iterator[pa.RecordBatch], places: range, size: int, room: int, work: Path) -> Iterator[pa.Array]:
    """Return the raw ids of all ``places``, in order. Where their ``size`` in bytes exceeds ``room``, they are first dealt to
    files, one for each stretch of places. A file that is still too large is dealt again."""
    if size <= room or len(places) == 1:
        table = pa.Table.from_batches(batches)
        order, together = np.argsort(table["place"].to_numpy()), table["raw_id"].combine_chunks()
        del table
        for at in range(0, len(order), TAKEN_AT_ONCE):
            yield together.take(pa.array(order[at : at + TAKEN_AT_ONCE]))
        return
    rows = -(-len(places) // min(MOST_STRETCHES, -(-size // room)))
    stretches = [places[at : at + rows] for at in range(0, len(places), rows)]
    work.mkdir()
    paths = [work / str(number) for number in range(len(stretches))]
    _deal(batches, places.start, rows, paths)
    for path, stretch in zip(paths, stretches):
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
            yield from _in_order(stream, stretch, path.stat().st_size, room, work / "again")
        path.unlink()
    files.remove_tree(work)


def _deal(batches: Iterator[pa.RecordBatch], first: int, rows: int, paths: list[Path]) -> None:
    """Write each raw id to the file of its stretch. The first stretch has ``rows`` places from ``first`` on, and so on."""
    writers: list[Any] = []
    for batch in batches:
        writers = writers or [pa.ipc.new_stream(str(path), batch.schema) for path in paths]
        stretch = (batch["place"].to_numpy() - np.uint64(first)) // np.uint64(rows)
        order = np.argsort(stretch, kind="stable")
        ends = np.cumsum(np.bincount(stretch.astype(np.int64), minlength=len(paths)))
        dealt = batch.take(pa.array(order))
        for writer, begin, end in zip(writers, [0, *ends.tolist()], ends.tolist()):
            if end > begin:
                writer.write_batch(dealt[begin:end])
    for writer in writers:
        writer.close()
