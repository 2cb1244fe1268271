"""`repartition`: a dataset again with another number of partitions, from the dataset alone. Node ids stay as they are.

    nodes.parquet --raw ids, types--> nodes.parquet, row groups by the new partitions                       names
    tables/ --rows--> tables/, a chunk for each new partition                                        tables
    edges/<split> --EdgeLayout.pack_stored--> records --ExternalSort--> sorted runs                  sort
    sorted --SplitWriter--> edges/<split>                                                            write
    edges/train --AdjacencyWriter--> adjacency/in, where there was one                               adjacency

Everything streams; passes are remembered and the folder renamed into place as by `preprocess`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import marius_lite
from marius_lite import files
from marius_lite._native import EdgeLayout
from marius_lite.errors import UserError
from marius_lite.graph.adjacency import ADJACENCY
from marius_lite.graph.dataset import REDO, Dataset
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.features import FEATURES, Features
from marius_lite.graph.manifest import Manifest
from marius_lite.graph.multi_labels import MultiLabels
from marius_lite.graph.node_columns import LABELS, SPLIT, TABLES, NodeColumn
from marius_lite.graph.node_types import compact
from marius_lite.graph.partitioning import Partitioning
from marius_lite.graph.report import REPORT, UNKNOWN, read_report, write_report
from marius_lite.preprocess.disk.background import read_ahead
from marius_lite.preprocess.disk.passes import LAST, Files, Passes, all_of_it
from marius_lite.preprocess.disk.place import WORK, check_output, checksums, make_groups, new_dataset, settle
from marius_lite.preprocess.disk.rechunk import rechunk
from marius_lite.preprocess.disk.sort import WORD_BYTES, ExternalSort, Records, SortedRun, files_of, merge
from marius_lite.preprocess.disk_plan import CHECKSUM_BYTES, COUNT_BYTES, OFFSET_BYTES, SMALL_FILES, require_more
from marius_lite.preprocess.edges import buckets
from marius_lite.preprocess.edges.adjacency import AdjacencyWriter
from marius_lite.preprocess.edges.buckets import SplitWriter, Tally, carried_words, count_dtype, with_bar, write_buckets
from marius_lite.preprocess.edges.degrees import degree_facts, degrees_counted
from marius_lite.preprocess.ids.renumber import Types, write_names
from marius_lite.preprocess.option_texts import parse_memory, parse_partitions
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.plan import column_memory, pass_memory, sort_memory, split_memory
from marius_lite.preprocess.report import partition_facts
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.checksum import file_checksum
from marius_lite.storage.columns import create_node_column
from marius_lite.storage.flat import open_flat
from marius_lite.storage.metadata import create_group
from marius_lite.storage.table import RowTable

NAMES_AT_ONCE = 1 << 16
NODES, RELATIONS = "nodes.parquet", "relations.parquet"


@dataclass(frozen=True)
class Wish:
    """What is asked for; ``memory`` in bytes."""

    dataset: Dataset
    output: Path
    partitions: int
    memory: int
    overwrite: bool

    @classmethod
    def parse(cls, dataset: str | Path, output: str | Path, partitions: str | int, memory: str | int = "4GB",
              overwrite: bool = False) -> Wish:
        """From the command line's texts. Raises UserError."""
        number = parse_partitions(partitions)
        if number is None:
            raise UserError("--partitions auto: must be a whole number from 1 to 1024")
        place = Path(output).absolute()
        settle(place)  # it may be the dataset itself
        return cls(Dataset.open(dataset), place, number, parse_memory(memory), overwrite)

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.dataset.manifest.edges)

    @property
    def digest(self) -> str:
        """What tells one command from another."""
        source = (str(self.dataset.path.resolve()), self.dataset.fingerprint)
        asked = (marius_lite.__version__, "repartition", source, str(self.output), self.partitions)
        return hashlib.sha256(repr(asked).encode()).hexdigest()


def repartition(wish: Wish) -> dict[str, Any]:
    """Make the dataset; returns its report. Raises UserError or RunError: after a RunError the same command goes on."""
    check_output(wish.output, wish.overwrite)
    with new_dataset(wish.output, wish.digest, wish.overwrite) as (temporary, passes):
        report = passes.once(LAST, dict[str, Any], [temporary / "zarr.json", temporary / REPORT],
                             Repartition(wish, temporary, passes).run)
    return report


def repartition_dataset(dataset: str | Path, output: str | Path, partitions: int, **options: Any) -> Dataset:
    """What `marius-lite repartition` does, as a function. ``options``: ``memory``, text or bytes, and ``overwrite``.

    Raises UserError or RunError.
    """
    repartition(Wish.parse(dataset, output, partitions, **options))
    return Dataset.open(output)


class Repartition:
    """One run into ``root``, pass after pass."""

    def __init__(self, wish: Wish, root: Path, passes: Passes):
        self.wish, self.root, self.work, self.passes = wish, root, root / WORK, passes
        self.old, self.manifest = wish.dataset, wish.dataset.manifest
        self.partitioning = Partitioning(self.manifest.nodes, wish.partitions)
        self.carried: tuple[str, ...] = self.manifest.edge_columns or ()
        self.layout = EdgeLayout(self.partitioning.rows, self.partitioning.partitions, self.manifest.relations, len(self.carried))
        self.threads = len(os.sched_getaffinity(0))

    def run(self) -> dict[str, Any]:
        once = self.passes.once
        self._require_space()
        self.work.mkdir(exist_ok=True)
        make_groups(self.root)
        once("names", type(None), [self.root / NODES, self.root / RELATIONS], self._write_names)
        once("tables", Files, [self.root / TABLES], self._write_tables, all_of_it)
        self._sort_and_write()
        once("adjacency", Files, [self.root / ADJACENCY.parent], self._write_adjacency, all_of_it)
        manifest = self._manifest()
        files.write_atomic(self.root / "zarr.json", manifest.root_json())
        report = self._report(manifest)
        write_report(self.root / REPORT, report)
        return report

    @property
    def _record_bytes(self) -> int:
        return sum(self.manifest.edges.values()) * int(self.layout.words) * WORD_BYTES

    @property
    def _fits(self) -> bool:
        """Whether all records can be sorted in memory."""
        return self._record_bytes <= sort_memory(self.wish)

    def _require_space(self) -> None:
        """Before anything is done, UserError where there is less; later RunError, after which the same command goes on."""
        old, new, edges = self.old.partitioning, self.partitioning, sum(self.manifest.edges.values())
        purpose, counts = f"repartitioning {edges:,} edges", np.dtype(count_dtype(edges)).itemsize
        needed = sum(size for size, _ in self.manifest.files.values()) + new.nodes * counts + SMALL_FILES
        if not (self._fits or self.passes.any_of("write")):
            needed += self._record_bytes
        bucket = len(self.wish.splits) * (OFFSET_BYTES + CHECKSUM_BYTES * (3 + len(self.carried)))
        needed += max(0, new.partitions**2 - old.partitions**2) * bucket + new.partitions**2 * COUNT_BYTES
        needed += sum(new.partitions * rows.table.stride for rows in self._rows.values())  # the last chunk is filled up
        if self.passes.any:
            require_more(self.root, needed, purpose, self.wish.output)
        else:
            files.require_space(self.wish.output, needed, purpose)

    def _write_names(self) -> None:
        for name in (NODES, RELATIONS):
            path, (size, expected) = self.old.path / name, self.manifest.files[name]
            if file_checksum(path, size) != expected:
                raise UserError(f"{path}: does not match its checksum: copy the file again, or {REDO}")
        shutil.copyfile(self.old.path / RELATIONS, self.root / RELATIONS)
        write_names(self.root / NODES, self.manifest.ids, self._raw_ids(), self.partitioning, self._types)

    @property
    def _types(self) -> Types | None:
        types = self.old.types
        return None if types is None else lambda start, stop: compact(types.codes(start, stop), types.names)

    def _raw_ids(self) -> Iterator[pa.Array]:
        with pq.ParquetFile(self.old.path / NODES, buffer_size=1 << 20, pre_buffer=False) as file:
            for batch in file.iter_batches(NAMES_AT_ONCE, columns=["raw_id"]):
                yield batch.column(0)

    def _write_tables(self) -> Files:
        given = [(LABELS, self.old.labels), (SPLIT, self.old.node_splits)]
        columns = [(place, column) for place, column in given if isinstance(column, NodeColumn)]
        if not (columns or self._rows):
            return {}
        create_group(self.root / TABLES)
        written: Files = {}
        for place, rows in self._rows.items():
            written |= self._write_rows(rows, place)
        for place, column in columns:
            written |= self._write_column(column, place)
        return written

    @property
    def _rows(self) -> dict[Path, Features | MultiLabels]:
        """Tables of rows, by their place."""
        given = {FEATURES: self.old.features, LABELS: self.old.labels}
        return {place: rows for place, rows in given.items() if rows is not None and not isinstance(rows, NodeColumn)}

    def _write_rows(self, rows: Features | MultiLabels, place: Path) -> Files:
        old = rows.table
        new = RowTable.create(self.root / place, old.nodes, old.width, self.partitioning.rows, old.attributes, old.dtype)
        return rechunk(old.chunks, rows.checksums, new.chunks, old.nodes * old.stride)

    def _write_column(self, column: NodeColumn, place: Path) -> Files:
        new = create_node_column(self.root / place, column.dtype, self.partitioning.nodes, self.partitioning.rows)
        return rechunk(column.chunks, column.checksums, new, self.partitioning.nodes * column.dtype.itemsize)

    def _sort_and_write(self) -> None:
        """``edges/``. The sort is a pass of its own where its records do not fit the memory."""
        once, runs, sorted_runs = self.passes.once, self.work / "runs", list[SortedRun]()
        places = [*(self.root / "edges" / name for name in SPLITS), self.work / "counts", self.work / "in_degrees"]
        if self.passes.any_of("sort") or not (self._fits or self.passes.any_of("write")):
            sorted_runs = once("sort", list[SortedRun], [runs], lambda: self._pack().settle(),
                               lambda made: files_of(runs, made, self.layout.words))

        def records() -> Iterator[Records]:
            if not sorted_runs:
                return self._pack().sorted()
            return merge(runs, sorted_runs, self.layout.words, pass_memory(self.wish), self.threads)

        once("write", Files, places if sorted_runs else [*places, runs], lambda: self._write_edges(records()), all_of_it)
        self.passes.clear([runs])

    def _pack(self) -> ExternalSort:
        """Stored edges to records in the new partitions, into the sort."""
        total, nodes, relations = sum(self.manifest.edges.values()), self.manifest.nodes, self.manifest.relations
        sorter = ExternalSort(self.work / "runs", sort_memory(self.wish), self.threads, total, self.layout.words)
        with progress_bar("sort", "edge", total) as bar:
            for split, name in enumerate(SPLITS):
                if name not in self.wish.splits:
                    continue
                edges = self.old.edges(name)
                for first, (src, dst, rel, *carried) in read_ahead(edges.pieces(min(sorter.capacity, buckets.PIECE))):
                    self.layout.pack_stored(
                        src, dst, rel, carried_words(carried) if carried else None, first=first, bucket_offsets=edges.offsets,
                        rows=self.old.partitioning.rows, nodes=nodes, relations=relations, split=split, threads=self.threads,
                        out=sorter.room(len(src)))
                    sorter.keep(len(src))
                    bar.update(len(src))
        return sorter

    def _write_edges(self, pieces: Iterator[Records]) -> Files:
        lists = self.manifest.adjacency is not None  # which need the in-degrees
        edges = sum(self.manifest.edges.values())
        tally = Tally.zeros(self.partitioning, self.manifest.relations,
                            degrees_counted(self.partitioning, self.wish, edges) if lists else None)
        writers = {name: SplitWriter(self.root / "edges" / name, open_flat(self.old.edges(name).folder / "src").chunk,
                                     self.partitioning, self.carried, split_memory(self.wish)) for name in self.wish.splits}
        shown = with_bar(pieces, edges)
        written = write_buckets(shown, writers, self.layout, self.partitioning.nodes, self.carried, tally, drop_duplicates=False)
        (self.work / "counts").write_bytes(tally.bucket_counts[0].data)
        if lists:
            degree_facts({SPLITS[0]: self._training}, self.partitioning, tally, self.work / "in_degrees",
                         pass_memory(self.wish))
        return written

    @property
    def _training(self) -> EdgeBuckets:
        return EdgeBuckets(self.root / "edges" / SPLITS[0], self.partitioning, self.carried)

    def _write_adjacency(self) -> Files:
        if self.manifest.adjacency is None:
            return {}
        writer = AdjacencyWriter(self._training, self.root / ADJACENCY, self.work / "in_degrees", self.manifest.relations,
                                 pass_memory(self.wish), column_memory(self.wish))
        writer.write()
        return writer.files

    def _manifest(self) -> Manifest:
        counts = self.manifest.node_split
        return self.manifest.model_copy(update={
            "program_version": marius_lite.__version__,
            "partitions": self.partitioning.partitions,
            "rows_per_partition": self.partitioning.rows,
            "training_partitions": None if counts is None else -(-counts["train"] // self.partitioning.rows),
            "files": checksums(self.root, self.passes.files),
        }).sealed()

    def _report(self, manifest: Manifest) -> dict[str, Any]:
        """What preprocess saw, if that is still there; what the partitions hold now; and of which dataset this was made."""
        nothing = {"edges": {name: {"stored": count} for name, count in manifest.edges.items()}, "warnings": [UNKNOWN]}
        seen = read_report(self.old.path) or nothing
        seen.pop("sorted_runs", None)
        seconds = self.passes.seconds
        return {**seen, **partition_facts(manifest, files.read_numbers(self.work / "counts", np.int64)),
                "repartitioned": {"partitions": self.manifest.partitions, "fingerprint": self.manifest.fingerprint},
                "seconds": {**seconds, "total": round(sum(seconds.values()), 3)}}
