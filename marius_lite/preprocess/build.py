"""`preprocess`: raw files -> dataset folder.

    files --readers--> raw edges --NodeIds, RelationIds--> provisional edges --Spool--> disk
    dictionaries --rank--> final ids, nodes.parquet, partitions
    Spool --pack: both arcs of training edges--> ExternalSort --ArcLists--> Locality --> final ids, where asked for
    feature file --FeatureWriter: final ids--> tables/features
    label file, node lists --final ids--> tables/labels, tables/split
    Spool --pack: final ids, split, bucket--> records --ExternalSort--> sorted --SplitWriter--> edges/<split>
    edges/train --AdjacencyWriter--> adjacency/in
    manifest, report.json; the folder is synced and renamed into place

Everything is written into `.<name>.tmp` beside the output, so that a dataset folder is whole or does not
exist.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from marius_lite import files
from marius_lite._native import pack_arcs, pack_edges, place_nodes
from marius_lite.errors import UserError
from marius_lite.graph.adjacency import ADJACENCY
from marius_lite.graph.dataset import Dataset, file_checksum
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.features import FEATURES
from marius_lite.graph.manifest import LabelShape, Manifest, attributes
from marius_lite.graph.node_columns import LABELS, SPLIT, TABLES
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.adjacency import AdjacencyWriter, adjacency_bytes
from marius_lite.preprocess.arcs import ArcLists
from marius_lite.preprocess.bad_rows import BAD_ROWS, BadRows
from marius_lite.preprocess.buckets import SplitWriter, Tally, write_buckets
from marius_lite.preprocess.columns import create_group, write_node_column
from marius_lite.preprocess.features import FeatureWriter, stored_bytes
from marius_lite.preprocess.gather import Gatherer, gather, rows_expected
from marius_lite.preprocess.locality import Locality
from marius_lite.preprocess.node_data import NodeData, open_node_data, training_first
from marius_lite.preprocess.options import Options, split_bounds
from marius_lite.preprocess.partitions import choose_partitions
from marius_lite.preprocess.readers.features import FeatureFile
from marius_lite.preprocess.readers.folders import with_folders_opened
from marius_lite.preprocess.readers.source import find_files
from marius_lite.preprocess.renumber import write_relations
from marius_lite.preprocess.report import make_report, write_report
from marius_lite.preprocess.sort import RECORD_BYTES, ExternalSort
from marius_lite.seeds import seed_for

SPOOLED_BYTES, STORED_BYTES = 12, 12
LABEL, CODE = np.dtype(np.int64), np.dtype(np.uint8)
MOST_NODES = 1 << 32  # that locality takes: it numbers them with 4 bytes
WORK, REPORT, LOCK = "work", "report.json", "lock"


def preprocess(options: Options) -> dict[str, Any]:
    """Make the dataset; returns its report. Raises UserError or RunError, and then leaves nothing behind."""
    output = options.output.absolute()
    check_output(output, options.overwrite)
    options = with_folders_opened(options)
    inputs = find_files(options)
    node_data = open_node_data(options)
    require_space(output, rows_expected(inputs, options), options, node_data)
    try:
        with temporary_folder(output) as temporary:
            report = Build(options, temporary, node_data).run()
            files.remove_tree(temporary / WORK)
            (temporary / LOCK).unlink()
            files.sync_tree(temporary)
            put_in_place(temporary, output)
    except OSError as error:
        raise files.disk_error(_with_errno(error), output) from error
    return report


def make_dataset(edges: str | Path | Sequence[str | Path], output: str | Path, **options: Any) -> Dataset:
    """What `marius-lite preprocess` does, as a function; ``options`` are the command's, as texts or values.

    ``edges``, ``valid``, ``test``: a file or pattern, or several. Raises UserError or RunError.
    """
    for name in ("valid", "test"):
        if name in options:
            options[name] = _several(options[name])
    preprocess(Options.parse(edges=_several(edges), output=output, **options))
    return Dataset.open(output)


def _several(files: str | Path | Sequence[str | Path]) -> list[str]:
    return [str(file) for file in ([files] if isinstance(files, str | Path) else files)]


def check_output(output: Path, overwrite: bool) -> None:
    """Refuse an output that is there already; with ``overwrite``, one that is no dataset."""
    if not output.name:
        raise UserError(f"{output}: cannot be an output folder: name a new one")
    if not (output.exists() or output.is_symlink()):
        return
    if not overwrite:
        raise UserError(f"{output}: exists already: choose another --output, or replace it with --overwrite")
    is_dataset = output.is_dir() and (attributes(output) or {}).get("kind") == "dataset"
    is_empty = output.is_dir() and not any(output.iterdir())
    if output.is_symlink() or not (is_dataset or is_empty):
        raise UserError(
            f"{output}: exists and is no dataset, --overwrite does not remove it: choose another --output"
        )


def require_space(output: Path, rows: int, options: Options, node_data: NodeData | None) -> None:
    """Refuse to start where the temporary files and the result surely do not fit."""
    edges = rows * (2 if options.undirected else 1)
    in_memory = edges * 2 * RECORD_BYTES <= sort_memory(options)
    runs = 0 if in_memory else edges * RECORD_BYTES
    needed, what = max(rows * SPOOLED_BYTES, runs + edges * STORED_BYTES), f"preprocessing about {rows:,} edges"
    if node_data is not None and node_data.features is not None:
        needed += stored_bytes(node_data.features)
        what += f" and {node_data.features.rows:,} feature rows"
    if node_data is not None and node_data.labels is not None:
        needed += node_data.rows.count * (LABEL.itemsize + CODE.itemsize)
    if options.partitioner == "locality":
        arcs = 2 * rows * RECORD_BYTES
        needed = max(needed, rows * SPOOLED_BYTES + (0 if 2 * arcs <= sort_memory(options) else arcs))
    if options.adjacency == "in":
        needed += adjacency_bytes(0, edges)
    files.require_space(output, needed, what)


def sort_memory(options: Options) -> int:
    """What of --memory the sort, or placing features, may take; the rest is for blocks being packed and written."""
    return options.memory * 3 // 4


@contextmanager
def temporary_folder(output: Path) -> Iterator[Path]:
    """`.<name>.tmp` beside the output, emptied of what a killed run left; removed when an error passes."""
    temporary = output.with_name(f".{output.name}.tmp")
    temporary.mkdir(parents=True, exist_ok=True)
    with files.lock(temporary / LOCK):
        try:
            for leftover in temporary.iterdir():
                if leftover.name != LOCK:
                    files.remove_tree(leftover)
            yield temporary
        except BaseException:
            files.remove_tree(temporary)
            raise


def put_in_place(temporary: Path, output: Path) -> None:
    """Rename into place; an old dataset steps aside first and is removed last."""
    old = output.with_name(f".{output.name}.old")
    files.remove_tree(old)
    if output.exists():
        os.rename(output, old)
    files.publish(temporary, output)
    files.remove_tree(old)


class Build:
    """One run into ``root``, phase after phase; ``timings`` in seconds."""

    def __init__(self, options: Options, root: Path, node_data: NodeData | None):
        self.options = options
        self.node_data = node_data
        self.root = root
        self.threads = len(os.sched_getaffinity(0))
        self.timings: dict[str, float] = {}
        self.files: dict[Path, tuple[int, int]] = {}

    def run(self) -> dict[str, Any]:
        options, work = self.options, self.root / WORK
        work.mkdir()
        with self._phase("read"):
            gathered = gather(find_files(options), options, work / "spool", self.threads, BadRows(self.root / BAD_ROWS),
                              self.node_data)
        spooled = sum(gathered.spool.counts)
        nodes = len(gathered.nodes)
        partitioning = Partitioning(
            nodes, options.partitions or choose_partitions(nodes, self._stored(spooled))
        )
        dictionary_bytes = gathered.nodes.bytes
        require_space(self.root, spooled, options, self.node_data)
        create_group(self.root)
        create_group(self.root / "edges")
        with self._phase("rank"):
            order, rank = gathered.nodes.rank(self.threads)
            if self.node_data is not None and self.node_data.codes is not None:
                order = training_first(order, rank, self.node_data.codes)
        relation_kind, relation_names, relation_rank = gathered.finish_relations()
        split_rank = rank
        if options.partitioner == "locality" and partitioning.partitions > 1:
            with self._phase("partition"):
                split_rank = rank.copy() if options.fractions else rank
                self._partition(gathered, order, rank, relation_rank, partitioning)
        with self._phase("write_nodes"):
            gathered.nodes.write(self.root / "nodes.parquet", order, partitioning)
        kind = gathered.nodes.kind
        gathered.forget_nodes()
        about_nodes = self._write_node_data(self.node_data, order, rank, partitioning) if self.node_data else {}
        del order
        with self._phase("pack"):
            sorter = self._pack(gathered, rank, split_rank, relation_rank, partitioning)
        del rank, split_rank
        tally = Tally.zeros(partitioning, len(relation_names))
        with self._phase("sort_and_write"):
            writers = {
                name: SplitWriter(self.root / "edges" / name, self._bound(name, gathered), partitioning)
                for name in options.splits
            }
            runs = sorter.runs
            self.files |= write_buckets(sorter.sorted(), writers, partitioning, tally, options.drop_duplicates)
        del sorter, writers
        self._write_adjacency(tally, partitioning, len(relation_names))
        write_relations(self.root / "relations.parquet", relation_kind, relation_names, tally.relation_counts)
        sources = list(gathered.seen.sources)
        sources += [source for source in (self.node_data.sources() if self.node_data else []) if source not in sources]
        counts = self.node_data.counts if self.node_data else None
        with self._phase("checksum"):
            manifest = Manifest(
                nodes=nodes,
                relations=len(relation_names),
                partitions=partitioning.partitions,
                edges={
                    name: int(tally.bucket_counts[split].sum())
                    for split, name in enumerate(("train", "valid", "test"))
                    if name in options.splits
                },
                rows_per_partition=partitioning.rows,
                seed=options.seed,
                ids=kind,
                relation_ids=relation_kind,
                options=options.recorded(),
                features=self.node_data.shape if self.node_data else None,
                labels=LabelShape(classes=self.node_data.classes) if self.node_data and self.node_data.classes else None,
                node_split=counts,
                training_partitions=None if counts is None else -(-counts["train"] // partitioning.rows),
                adjacency=None if options.adjacency == "none" else (options.adjacency,),
                sources=sorted(sources, key=lambda s: (s.name, s.size, s.crc32c)),
                files=self._checksums(),
            ).sealed()
        files.write_atomic(self.root / "zarr.json", manifest.root_json())
        report = make_report(
            manifest,
            gathered.seen,
            tally,
            options,
            self.timings,
            {**about_nodes, "dictionary_bytes": dictionary_bytes, "sorted_runs": runs},
        )
        write_report(self.root / REPORT, report)
        return report

    def _write_node_data(self, given: NodeData, order: Any, rank: Any, partitioning: Partitioning) -> dict[str, Any]:
        """``tables/``, and what the report says of it."""
        create_group(self.root / TABLES)
        said: dict[str, Any] = {}
        if given.features is not None:
            with self._phase("features"):
                said["features"] = self._write_features(given.features, order, rank, partitioning)
        if given.labels is not None:
            self._write_column(LABELS, LABEL, given.labels, order, partitioning)
            said["labels"] = {"classes": given.classes, "labelled": int(np.count_nonzero(given.labels >= 0))}
        if given.codes is not None:
            self._write_column(SPLIT, CODE, given.codes, order, partitioning)
            said["node_split"] = given.counts
        given.forget()
        return said

    def _write_column(self, column: Path, dtype: Any, values: Any, order: Any, partitioning: Partitioning) -> None:
        self.files |= write_node_column(self.root / column, dtype, partitioning, lambda ids: values[order[ids.start : ids.stop]])

    def _write_features(self, file: FeatureFile, order: Any, rank: Any, partitioning: Partitioning) -> dict[str, Any]:
        writer = FeatureWriter(file, self.root / FEATURES, order, rank, partitioning, self.root / WORK / "features",
                               sort_memory(self.options))
        writer.write()
        self.files |= writer.files
        return {"rows": file.rows, "width": file.width, "dtype": file.type, "source_dtype": file.source_dtype.name,
                "converted": file.source_dtype.name != file.type, "spooled_bytes": writer.spooled_bytes}

    def _write_adjacency(self, tally: Tally, partitioning: Partitioning, relations: int) -> None:
        """``adjacency/in``, where it is asked for."""
        if self.options.adjacency == "none":
            return
        with self._phase("adjacency"):
            writer = AdjacencyWriter(EdgeBuckets(self.root / "edges/train", partitioning), self.root / ADJACENCY,
                                     tally.in_degrees, relations, sort_memory(self.options))
            writer.write()
        self.files |= writer.files

    def _stored(self, edges: int) -> int:
        return edges * (2 if self.options.undirected else 1)

    def _bound(self, split: str, gathered: Gatherer) -> int:
        """At most how many edges a split will store."""
        counts = gathered.spool.counts
        return self._stored(
            sum(counts) if self.options.fractions else counts[("train", "valid", "test").index(split)]
        )

    def _partition(self, gathered: Gatherer, order: Any, rank: Any, relation_rank: Any, partitioning: Partitioning) -> None:
        """Node ids by locality: ``order`` and ``rank`` are overwritten."""
        if partitioning.nodes > MOST_NODES:
            raise UserError(f"--partitioner locality: {partitioning.nodes:,} nodes, it takes at most {MOST_NODES:,}: use random")
        counts = self.node_data.counts if self.node_data else None
        folder, memory = self.root / WORK / "locality", sort_memory(self.options)
        sorter = ExternalSort(self.root / WORK / "arcs", memory, self.threads, 2 * sum(gathered.spool.counts))
        for spooled in gathered.spool.read():
            for at in range(0, len(spooled.src), sorter.capacity // 2):
                part = slice(at, at + sorter.capacity // 2)
                room = sorter.room(2 * len(spooled.src[part]))
                sorter.keep(pack_arcs(spooled.src[part], spooled.rel[part], spooled.dst[part], rank, relation_rank,
                                      **self._split_rules(spooled.split), out=room))
        lists = ArcLists(folder / "lists", sorter.sorted(), memory)
        del sorter
        locality = Locality(folder, partitioning, memory, self.threads, self.options.seed)
        parts = locality.find(lists, first=counts["train"] if counts else partitioning.nodes)
        place_nodes(parts, np.arange(partitioning.partitions, dtype=np.int64) * partitioning.rows, order, rank)

    def _split_rules(self, split: int) -> dict[str, Any]:
        """What decides which split a spooled edge falls into."""
        options = self.options
        return {"split": split, "bounds": split_bounds(options.fractions) if options.fractions else None,
                "key": seed_for(options.seed, "split"), "undirected": options.undirected}

    def _pack(self, gathered: Gatherer, rank: Any, split_rank: Any, relation_rank: Any,
              partitioning: Partitioning) -> ExternalSort:
        """Second pass: spooled edges to records in final ids, into the sort."""
        options = self.options
        total = sum(gathered.spool.counts)
        width = 2 if options.undirected else 1
        sorter = ExternalSort(
            self.root / WORK / "runs", sort_memory(options), self.threads, self._stored(total)
        )
        layout = {
            "rows": partitioning.rows,
            "partitions": partitioning.partitions,
            "offset_bits": partitioning.offset_bits,
        }
        with tqdm(total=total, unit="edge", unit_scale=True, desc="sort", mininterval=0.5) as bar:
            for spooled in gathered.spool.drain():
                step = sorter.capacity // width
                for at in range(0, len(spooled.src), step):
                    part = slice(at, at + step)
                    count = len(spooled.src[part])
                    sorter.keep(
                        pack_edges(
                            spooled.src[part],
                            spooled.rel[part],
                            spooled.dst[part],
                            rank,
                            split_rank,
                            relation_rank,
                            **layout,
                            **self._split_rules(spooled.split),
                            out=sorter.room(count * width),
                        )
                    )
                    bar.update(count)
        return sorter

    def _checksums(self) -> dict[str, tuple[int, int]]:
        """(size, crc32c) of every data file, by path relative to the dataset."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            inside = path.relative_to(self.root)
            if path.is_file() and inside.parts[0] not in (WORK, REPORT, LOCK, "zarr.json"):
                size = path.stat().st_size
                found[inside.as_posix()] = self.files.get(path) or (size, file_checksum(path, size))
        return found

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.timings[name] = round(time.perf_counter() - started, 3)


def _with_errno(error: OSError) -> OSError:
    """Arrow's errors carry the number only in their text."""
    if error.errno is None and (found := re.search(r"errno (\d+)", str(error))):
        return OSError(int(found[1]), os.strerror(int(found[1])))
    return error
