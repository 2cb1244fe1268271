"""`preprocess`: raw files -> dataset folder.

    files --readers--> raw edges --NodeKeys, RelationKeys--> edges in keys --Spool--> disk                         read
    dictionaries --number_ids--> raw ids in order of id; the id of each key                                        number
    feature rows, labels, node lists, types --NodeData, TypeSource--> on disk by id                         nodes, types
    Spool --pack_arcs: both arcs of training edges--> ExternalSort --ArcLists--> Locality or Metis --> last ids  partition
    raw ids, types --last ids--> nodes.parquet                                                                     names
    features, labels, splits --last ids--> tables/                                                                 tables
    Spool --EdgeLayout.pack: last ids, split, bucket--> records --ExternalSort--> sorted runs                      sort
    sorted --SplitWriter--> edges/<split>                                                                          write
    edges/train --AdjacencyWriter--> adjacency/in                                                                  adjacency
    manifest, report.json; the folder is synced and renamed into place

Everything is written into `.<name>.tmp` beside the output, so that a dataset folder is whole or does not exist. Passes that were
finished there are not repeated when the same command runs again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from marius_lite import files
from marius_lite._native import EdgeLayout, pack_arcs, place_nodes
from marius_lite.errors import MemoryWanted, UserError
from marius_lite.graph.adjacency import ADJACENCY
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.features import FEATURES
from marius_lite.graph.ids import IdFile
from marius_lite.graph.manifest import LabelShape, Manifest, Source
from marius_lite.graph.node_columns import LABELS, SPLIT, TABLES
from marius_lite.graph.node_types import NodeTypes
from marius_lite.graph.partitioning import Partitioning
from marius_lite.graph.report import REPORT, write_report
from marius_lite.log import log
from marius_lite.preprocess.command import command_digest
from marius_lite.preprocess.disk.background import read_ahead
from marius_lite.preprocess.disk.columns import create_group, write_node_column
from marius_lite.preprocess.disk.passes import LAST, Files, Passes, all_of_it
from marius_lite.preprocess.disk.place import WORK, check_output, checksums, make_groups, new_dataset, settle
from marius_lite.preprocess.disk.sort import WORD_BYTES, ExternalSort, Records, SortedRun, files_of, merge
from marius_lite.preprocess.disk.spool import Keys, SpooledEdges
from marius_lite.preprocess.disk_plan import DiskPlan, require_rest, require_space, sizes_after
from marius_lite.preprocess.edges import buckets
from marius_lite.preprocess.edges.adjacency import AdjacencyWriter, list_edge_bytes, require_memory
from marius_lite.preprocess.edges.buckets import SplitWriter, Tally, with_bar, write_buckets
from marius_lite.preprocess.edges.degrees import DegreeFacts, degree_facts
from marius_lite.preprocess.gather.bad_rows import BAD_ROWS, BadRows
from marius_lite.preprocess.gather.gather import Gathered, gather
from marius_lite.preprocess.gather.rows import rows_counted, rows_expected
from marius_lite.preprocess.ids.numbering import Ids, Numbering, id_dtype, number_ids
from marius_lite.preprocess.ids.relations import write_relations
from marius_lite.preprocess.ids.renumber import Renumbering, TrainingFirst, write_nodes
from marius_lite.preprocess.nodes.edge_types import EdgeType, edge_types
from marius_lite.preprocess.nodes.features import FeatureWriter, StoredRows
from marius_lite.preprocess.nodes.node_data import NodeData, NodeLabels, open_node_data
from marius_lite.preprocess.nodes.node_types import PlacedTypes, TypeSource, open_node_types
from marius_lite.preprocess.options import SPLITS, Options, split_bounds
from marius_lite.preprocess.partition import locality
from marius_lite.preprocess.partition.arcs import ArcLists
from marius_lite.preprocess.partition.locality import Locality
from marius_lite.preprocess.partition.metis_partitioner import Metis
from marius_lite.preprocess.partition.partitions import choose_partitions
from marius_lite.preprocess.plan import column_memory, degrees_counted, pass_memory, sort_memory, split_memory
from marius_lite.preprocess.readers.folders import with_folders_opened
from marius_lite.preprocess.readers.source import find_files
from marius_lite.preprocess.report import make_report
from marius_lite.printable import printable
from marius_lite.progress_bar import progress_bar
from marius_lite.seeds import seed_for

LABEL, CODE = np.dtype(np.int64), np.dtype(np.uint8)
MOST_NODES = 1 << 32  # that a partitioner takes: it numbers them with 4 bytes
WRITTEN_LAST = ("relations.parquet", "zarr.json", REPORT)


def preprocess(options: Options) -> dict[str, Any]:
    """Make the dataset; returns its report. Raises UserError or RunError: after a RunError the same command goes on."""
    output = options.output.absolute()
    settle(output)
    check_output(output, options.overwrite)
    options = with_folders_opened(options)
    inputs = find_files(options)
    node_data, node_types = open_node_data(options), open_node_types(options)
    rows = rows_expected(inputs, options)
    with new_dataset(output, command_digest(options), options.overwrite) as (temporary, passes):
        build = Build(options, temporary, passes, node_data, node_types)
        if not passes.any:
            require_space(inputs, rows, options, node_data, lambda: rows_counted(inputs, options, build.threads))
        report = passes.once(LAST, dict[str, Any], [temporary / name for name in WRITTEN_LAST], build.run)
    for line in report["warnings"]:
        log.warning(printable(line))
    return report


@dataclass(frozen=True)
class Named:
    """Everything about ids: ``last`` turns the numbering's into those of the dataset."""

    numbering: Numbering
    labels: NodeLabels | None
    types: PlacedTypes | None
    partitioning: Partitioning
    last: Renumbering


@dataclass(frozen=True)
class Tables:
    """What was written to ``tables/``, and what the report says of it."""

    files: Files
    said: dict[str, Any]
    sources: list[Source]


@dataclass(frozen=True)
class Written:
    """What was written to ``edges/``; the counts of its tally lie in a file, in-degrees in another."""

    files: Files
    degrees: DegreeFacts
    runs: int


class Build:
    """One run into ``root``, pass after pass."""

    def __init__(self, options: Options, root: Path, passes: Passes, node_data: NodeData | None,
                 node_types: TypeSource | None):
        self.options, self.passes, self.node_data, self.node_types = options, passes, node_data, node_types
        self.root, self.work = root, root / WORK
        self.threads = len(os.sched_getaffinity(0))

    def _require_rest(self, gathered: Gathered, numbering: Numbering, partitioning: Partitioning, words: int,
                      relations: int) -> None:
        """Once nodes are numbered: memory for lists (else MemoryWanted), disk for all that is to come (else RunError)."""
        options, done = self.options, self.passes.any_of
        if options.adjacency == "in" and not done("adjacency"):
            surely = 0 if options.fractions or options.drop_duplicates else gathered.counts[0]  # of the training edges
            edge = list_edge_bytes(partitioning.nodes, relations > 1, "weight" in gathered.shape.carried)
            mean = -(-surely // partitioning.partitions)
            require_memory(partitioning, mean, "a partition at the least", edge, pass_memory(options))
        sizes = sizes_after(gathered, numbering, options, words, relations, partitioning.partitions)
        require_rest(DiskPlan(sizes, options, self.node_data, sorted=done("sort")), self.root, done)

    def run(self) -> dict[str, Any]:
        options, once, work = self.options, self.passes.once, self.work
        work.mkdir(exist_ok=True)
        make_groups(self.root)
        gathered = once("read", Gathered, [work / "read", self.root / BAD_ROWS], lambda: gather(
            find_files(options), options, work / "read", self.threads, BadRows(self.root / BAD_ROWS), self.node_data,
            self.node_types), lambda gathered: gathered.spooled)
        if (needed := gathered.dictionaries.key_bytes) > options.memory // 4 and not self.passes.any_of("sort", "write"):
            raise MemoryWanted(f"--memory: the ids that were read take {files.format_bytes(needed)} of it, a quarter at most: "
                               "give about as much as before, and the same command goes on, or start afresh with --overwrite")
        numbering = once("number", Numbering, [work / "number"], lambda: number_ids(
            gathered.dictionaries, options.seed, work / "number", options.memory // 2, self.threads))
        kind, names, relation_ids = gathered.relations.finish()
        nodes, edges = numbering.nodes, self._stored(sum(gathered.counts))
        partitioning = Partitioning(nodes, options.partitions or choose_partitions(nodes, edges))
        layout = EdgeLayout(partitioning.rows, partitioning.partitions, len(names), len(gathered.shape.carried))
        self._require_rest(gathered, numbering, partitioning, layout.words, len(names))
        named = self._name(gathered, numbering, partitioning)
        spools = [work / table.name for table in (FEATURES, LABELS)]
        tables = once("tables", Tables, [self.root / TABLES, *spools], lambda: self._write_tables(named),
                      attrgetter("files"))
        written, tally = self._sort_and_write(gathered, named, layout, relation_ids)
        once("adjacency", Files, [self.root / ADJACENCY.parent], lambda: self._write_adjacency(gathered, named, len(names)),
             all_of_it)
        facts = {**tables.said, **self._types_said(gathered, named, names), "sorted_runs": written.runs}
        write_relations(self.root / "relations.parquet", kind, names, tally.relation_counts.sum(0))
        manifest = self._manifest(gathered, named, kind, len(names), tables, tally)
        files.write_atomic(self.root / "zarr.json", manifest.root_json())
        report = make_report(manifest, gathered.seen, tally, written.degrees, options, self.passes.seconds, facts)
        write_report(self.root / REPORT, report)
        return report

    def _name(self, gathered: Gathered, numbering: Numbering, partitioning: Partitioning) -> Named:
        """From the first numbering to the ids of the dataset, and ``nodes.parquet``."""
        data, once, work = self.node_data, self.passes.once, self.work
        nodes, labels, training = numbering.nodes, None, None
        if data is not None and gathered.node_lists is not None:
            lists = gathered.node_lists
            labels = once("nodes", NodeLabels, [work / "nodes"], lambda: data.place(numbering, lists, work / "nodes"))
            if labels.codes is not None:
                training = TrainingFirst(files.read_numbers(labels.codes, CODE))
        types, given, source = None, gathered.node_types, self.node_types
        if source is not None and given is not None:
            types = once("types", PlacedTypes, [work / "types"], lambda: source.place(numbering, given, work / "types"))
        last = Renumbering(training, None, id_dtype(nodes))
        if self.options.partitioner != "random" and partitioning.partitions > 1:
            first = labels.counts["train"] if labels and labels.counts else nodes
            places = once("partition", Path, [work / "locality", work / "arcs", work / "places"],
                          lambda: self._partition(gathered, numbering, last, partitioning, first))
            last = Renumbering(training, places, id_dtype(nodes))
        file = self.root / "nodes.parquet"
        once("names", type(None), [file, work / "names"],
             lambda: write_nodes(file, numbering.raw_ids, last, partitioning, work / "names", sort_memory(self.options),
                                 types.by(last) if types else None))
        return Named(numbering, labels, types, partitioning, last)

    def _write_tables(self, named: Named) -> Tables:
        """``tables/``, where there is something about nodes."""
        given, labels = self.node_data, named.labels
        if given is None or labels is None:
            return Tables({}, {}, [])
        create_group(self.root / TABLES)
        written: Files = {}
        said: dict[str, Any] = {}
        sources = []
        if given.features is not None:
            file = given.features
            writer = self._write_rows(named, labels, FEATURES, file)
            written |= writer.files
            said["features"] = {"rows": file.rows, "width": file.width, "dtype": file.type,
                                "source_dtype": file.source_dtype.name, "converted": file.source_dtype.name != file.type,
                                "spooled_bytes": writer.spooled_bytes}
            sources = [Source(name=file.path.name, size=file.size, crc32c=file.checksum)]
        if labels.labels is not None and given.labels is not None:
            said["labels"] = {"classes": given.classes, "labelled": labels.labelled}
            if given.labels.table is not None:
                written |= self._write_rows(named, labels, LABELS, given.labels.table).files
                said["labels"]["multi_label"] = True
            else:
                written |= self._write_column(named, LABELS, LABEL, files.read_numbers(labels.labels, np.int32))
            if given.labels.names:
                said["labels"]["names"] = given.labels.names
        if labels.codes is not None:
            written |= self._write_column(named, SPLIT, CODE, files.read_numbers(labels.codes, CODE))
            said["node_split"] = labels.counts
        return Tables(written, said, sources)

    def _write_rows(self, named: Named, labels: NodeLabels, place: Path, file: StoredRows) -> FeatureWriter:
        """A table of the rows of ``file``; what wrote it."""
        row_ids, renumber, dtype = self.work / "row_ids", named.last.open(), named.last.dtype
        with open(row_ids, "wb") as out:
            for at in range(0, file.rows, buckets.PIECE):
                ids = files.read_numbers(labels.row_ids, dtype, buckets.PIECE, at * np.dtype(dtype).itemsize)
                out.write(renumber(ids).data)
        del renumber
        writer = FeatureWriter(file, self.root / place, row_ids, dtype, named.partitioning, self.work / place.name,
                               pass_memory(self.options))
        writer.write()
        return writer

    def _write_column(self, named: Named, column: Path, dtype: Any, values: Any) -> Files:
        placed = np.empty_like(values)
        for first, ids in named.last.blocks(len(values)):
            placed[ids] = values[first : first + len(ids)]
        return write_node_column(self.root / column, dtype, named.partitioning, lambda ids: placed[ids.start : ids.stop])

    def _stored(self, edges: int) -> int:
        return edges * (2 if self.options.undirected else 1)

    def _records(self, gathered: Gathered) -> int:
        """At most how many are sorted: stored edges, and the reverses of given edges that are looked for in training."""
        given = sum(gathered.counts[1:]) if self.options.reverses_sought else 0
        return self._stored(sum(gathered.counts)) + given

    def _bound(self, split: str, gathered: Gathered) -> int:
        """At most how many edges a split will store."""
        return self._stored(sum(gathered.counts) if self.options.fractions else gathered.counts[SPLITS.index(split)])

    def _partition(self, gathered: Gathered, numbering: Numbering, before: Renumbering, partitioning: Partitioning,
                   first: int) -> Path:
        """A file of the last id of each node, by the id that it has ``before``."""
        nodes, name = partitioning.nodes, self.options.partitioner
        if nodes > MOST_NODES:
            raise UserError(f"--partitioner {name}: {nodes:,} nodes, it takes at most {MOST_NODES:,}: use random")
        if (needed := nodes * locality.NODE_BYTES) > self.options.memory // 4:
            raise MemoryWanted(f"--partitioner {name}: {nodes:,} nodes take {files.format_bytes(needed)}, it has a quarter of "
                               "--memory: give more, and the same command goes on, or use random")
        folder, memory = self.work / "locality", sort_memory(self.options)
        sorter = ExternalSort(self.work / "arcs", memory, self.threads, 2 * sum(gathered.counts))
        relation_ids = gathered.relations.finish()[2]
        for spooled, ids in self._with_ids(gathered, numbering):
            numbers = before.apply(ids)
            for at in range(0, len(spooled.src), sorter.capacity // 2):
                part = slice(at, at + sorter.capacity // 2)
                room = sorter.room(2 * len(spooled.src[part]))
                sorter.keep(pack_arcs(spooled.src[part], spooled.rel[part], spooled.dst[part], numbers, relation_ids,
                                      **self._split_rules(spooled.split), out=room))
        lists = ArcLists(folder / "lists", sorter.sorted(), memory)
        del sorter
        partitioner = Metis if name == "metis" else Locality
        parts = partitioner(folder, partitioning, memory, self.threads, self.options.seed).find(lists, first=first)
        order, places = np.arange(nodes, dtype=np.uint32), np.arange(nodes, dtype=np.uint32)
        place_nodes(parts, np.arange(partitioning.partitions, dtype=np.int64) * partitioning.rows, order, places)
        (self.work / "places").write_bytes(places.data)
        return self.work / "places"

    def _with_ids(self, gathered: Gathered, numbering: Numbering) -> Iterator[tuple[SpooledEdges, Ids]]:
        """Spooled edges, and the ids of their keys in the first numbering."""
        known, ids = -1, np.empty(0, np.uint32)
        for spooled in read_ahead(gathered.edges()):
            if spooled.dictionary != known:
                known, ids = spooled.dictionary, numbering.ids(spooled.dictionary)
            yield spooled, ids

    def _split_rules(self, split: int) -> dict[str, Any]:
        """What decides which split a spooled edge falls into."""
        options = self.options
        return {"split": split, "bounds": split_bounds(options.fractions) if options.fractions else None,
                "key": seed_for(options.seed, "split"), "undirected": options.undirected}

    def _sort_and_write(self, gathered: Gathered, named: Named, layout: EdgeLayout, relation_ids: Keys) -> tuple[Written, Tally]:
        """``edges/``. The sort is a pass of its own where its records do not fit the memory."""
        once, runs = self.passes.once, self.work / "runs"
        places = [*(self.root / "edges" / name for name in SPLITS), self.work / "tally", self.work / "in_degrees"]

        def write(records: Iterator[Records], count: int) -> Written:
            return self._write_edges(records, count, gathered, named, layout, len(relation_ids))

        keyed = [self.work / "read", self.work / "number"]
        done = self.passes.any_of
        if done("write") or (self._fits(gathered, layout) and not done("sort")):  # it may have had another --memory before
            written = once("write", Written, [*places, runs],
                           lambda: write(self._pack(gathered, named, layout, relation_ids).sorted(), 0), attrgetter("files"))
        else:
            sorted_runs = once("sort", list[SortedRun], [runs],
                               lambda: self._pack(gathered, named, layout, relation_ids).settle(),
                               lambda made: files_of(runs, made, layout.words))
            self.passes.clear(keyed)
            written = once("write", Written, places,
                           lambda: write(merge(runs, sorted_runs, layout.words, pass_memory(self.options), self.threads),
                                         len(sorted_runs)), attrgetter("files"))
        self.passes.clear([*keyed, runs])
        return written, Tally.load(self.work / "tally", named.partitioning, len(relation_ids))

    def _fits(self, gathered: Gathered, layout: EdgeLayout) -> bool:
        """Whether all records can be sorted in memory."""
        return self._records(gathered) * int(layout.words) * WORD_BYTES <= sort_memory(self.options)

    def _pack(self, gathered: Gathered, named: Named, layout: EdgeLayout, relation_ids: Keys) -> ExternalSort:
        """Spooled edges to records in last ids, into the sort."""
        options = self.options
        sorter = ExternalSort(self.work / "runs", sort_memory(options), self.threads, self._records(gathered), layout.words)
        known, last, hashed = None, np.empty(0, np.uint32), np.empty(0, np.uint32)
        with progress_bar("sort", "edge", sum(gathered.counts)) as bar:
            for spooled, ids in self._with_ids(gathered, named.numbering):
                if known is not ids:
                    known, last = ids, named.last.apply(ids)
                    hashed = Renumbering(named.last.training).apply(ids) if options.fractions else last
                width = 2 if options.undirected or (spooled.split and options.reverses_sought) else 1
                step = sorter.capacity // width
                for at in range(0, len(spooled.src), step):
                    part = slice(at, at + step)
                    count = len(spooled.src[part])
                    sorter.keep(layout.pack(
                        spooled.src[part], spooled.rel[part], spooled.dst[part],
                        None if spooled.carried is None else spooled.carried[part], last, hashed, relation_ids,
                        **self._split_rules(spooled.split), threads=self.threads, out=sorter.room(count * width)))
                    bar.update(count)
        return sorter

    def _write_edges(self, pieces: Iterator[Records], runs: int, gathered: Gathered, named: Named, layout: EdgeLayout,
                     relations: int) -> Written:
        options, partitioning, carried = self.options, named.partitioning, gathered.shape.carried
        stored = self._stored(sum(gathered.counts))
        tally = Tally.zeros(partitioning, relations, degrees_counted(partitioning, options, stored))
        writers = {name: SplitWriter(self.root / "edges" / name, self._bound(name, gathered), partitioning, carried,
                                     split_memory(options)) for name in options.splits}
        shown = with_bar(pieces, self._records(gathered))
        written = write_buckets(shown, writers, layout, partitioning.nodes, carried, tally, options.drop_duplicates)
        tally.save(self.work / "tally")
        facts = degree_facts(self._edges(gathered, named), partitioning, tally, self.work / "in_degrees", pass_memory(options))
        return Written(written, facts, runs)

    def _write_adjacency(self, gathered: Gathered, named: Named, relations: int) -> Files:
        """``adjacency/in``, where it is asked for."""
        if self.options.adjacency == "none":
            return {}
        edges = self._edges(gathered, named)["train"]
        writer = AdjacencyWriter(edges, self.root / ADJACENCY, self.work / "in_degrees", relations, pass_memory(self.options),
                                 column_memory(self.options))
        writer.write()
        return writer.files

    def _types_said(self, gathered: Gathered, named: Named, relations: pa.Array) -> dict[str, Any]:
        """Nodes by type, and edges by relation and types, where these can be counted."""
        if (types := named.types) is None:
            return {}
        ids = IdFile(self.root / "nodes.parquet", named.numbering.raw_ids.kind)
        nodes = NodeTypes(ids, named.partitioning.nodes, types.names)
        counted = self.passes.once("edge types", list[EdgeType], [], lambda: edge_types(
            self._edges(gathered, named), nodes, relations.to_pylist(), self.options.memory))
        return {"node_types": types.report, **({"edge_types": counted} if counted else {})}

    def _edges(self, gathered: Gathered, named: Named) -> dict[str, EdgeBuckets]:
        """What is written of each split."""
        return {name: EdgeBuckets(self.root / "edges" / name, named.partitioning, gathered.shape.carried)
                for name in self.options.splits}

    def _manifest(self, gathered: Gathered, named: Named, relation_kind: Any, relations: int, tables: Tables,
                  tally: Tally) -> Manifest:
        options, data, partitioning = self.options, self.node_data, named.partitioning
        counts = named.labels.counts if named.labels else None
        sources = gathered.seen.sources + [source for source in tables.sources if source not in gathered.seen.sources]
        return Manifest(
            nodes=partitioning.nodes,
            relations=relations,
            partitions=partitioning.partitions,
            edges={name: int(tally.bucket_counts[SPLITS.index(name)].sum()) for name in options.splits},
            rows_per_partition=partitioning.rows,
            seed=options.seed,
            ids=named.numbering.raw_ids.kind,
            relation_ids=relation_kind,
            options=options.recorded(),
            features=data.shape if data else None,
            labels=LabelShape(classes=data.classes) if data and data.classes else None,
            class_names=tuple(data.labels.names) if data and data.labels and data.labels.names else None,
            multi_label=True if data and data.labels and data.labels.table else None,
            node_split=counts,
            training_partitions=None if counts is None else -(-counts["train"] // partitioning.rows),
            node_types=tuple(named.types.names) if named.types else None,
            adjacency=None if options.adjacency == "none" else (options.adjacency,),
            edge_columns=gathered.shape.carried or None,
            self_loops=int(tally.totals[1][0]),
            sources=sorted(sources, key=lambda s: (s.name, s.size, s.crc32c)),
            files=checksums(self.root, self.passes.files),
        ).sealed()
