"""`preprocess`: raw files -> dataset folder.

    files --readers--> raw edges --NodeKeys, RelationKeys--> edges in keys --Spool--> disk                         read
    dictionaries --number_ids--> raw ids in order of id; the id of each key                                        number
    feature rows, labels, node lists, types --NodeData, TypeSource--> on disk by id                         nodes, types
    Spool --pack_arcs: both arcs of training edges--> ExternalSort --ArcLists--> Locality or Metis --> last ids  partition
    raw ids, types --last ids--> nodes.parquet                                                                     names
    features, labels, splits --last ids--> tables/                                                                 tables
    Spool --EdgeLayout.pack: last ids, split, bucket--> records --ExternalSort--> sorted runs                      sort
    sorted --SplitWriter--> edges/<split>                                                                          write
    edges/<other splits> --inverse_edges: held against edges/train--> counts                                       inverse
    edges/train --AdjacencyWriter--> adjacency/in                                                                  adjacency
    manifest, report.json; the folder is synced and renamed into place

Everything is written into `.<name>.tmp` beside the output. So a dataset folder is whole, or does not exist. When the same command
runs again, passes that were finished there are not repeated.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from marius_lite import files
from marius_lite._native import EdgeLayout
from marius_lite.cluster import ray_workers
from marius_lite.errors import MemoryWanted
from marius_lite.graph.adjacency import ADJACENCY
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.features import FEATURES
from marius_lite.graph.node_columns import LABELS, TABLES
from marius_lite.graph.partitioning import Partitioning
from marius_lite.graph.report import REPORT, write_report
from marius_lite.log import log
from marius_lite.preprocess import plan
from marius_lite.preprocess.command import command_digest
from marius_lite.preprocess.disk.passes import LAST, Files, all_of_it
from marius_lite.preprocess.disk.place import check_output, make_groups, new_dataset, recover_output
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.disk_plan import DiskPlan, require_rest, require_space, sizes_after
from marius_lite.preprocess.edges.adjacency import list_edge_bytes, require_memory, write_adjacency
from marius_lite.preprocess.edges.amounts import Amounts
from marius_lite.preprocess.edges.inverse import inverse_edges
from marius_lite.preprocess.edges.sorting import EdgeSort
from marius_lite.preprocess.edges.writing import EdgeWriting
from marius_lite.preprocess.gather.bad_rows import BAD_ROWS, BadRows
from marius_lite.preprocess.gather.gather import Gathered, gather
from marius_lite.preprocess.gather.rows import rows_counted, rows_expected
from marius_lite.preprocess.ids.numbering import Numbering, number_ids, with_ids
from marius_lite.preprocess.ids.relations import write_relations
from marius_lite.preprocess.ids.renumber import Renumbering
from marius_lite.preprocess.manifest import PassResults, make_manifest
from marius_lite.preprocess.node_passes import NodePasses
from marius_lite.preprocess.nodes.edge_types import type_facts
from marius_lite.preprocess.nodes.node_data import NodeData, open_node_data
from marius_lite.preprocess.nodes.node_types import TypeSource, open_node_types
from marius_lite.preprocess.nodes.tables import Tables, write_tables
from marius_lite.preprocess.options import SPLITS, Options
from marius_lite.preprocess.partition.partitions import choose_partitions
from marius_lite.preprocess.readers.folders import with_folders_opened
from marius_lite.preprocess.readers.source import InputFile, find_files
from marius_lite.preprocess.readers.text_options import check_text_options
from marius_lite.preprocess.report import make_report
from marius_lite.preprocess.workers.engine import WorkerEngine
from marius_lite.printable import printable
from marius_lite.sizes import format_bytes

WRITTEN_LAST = ("relations.parquet", "zarr.json", REPORT)


def preprocess(options: Options) -> dict[str, Any]:
    """Make the dataset and return its report. Raises UserError or RunError. After a RunError the same command goes on."""
    output = options.output.absolute()
    recover_output(output)
    check_output(output, options.overwrite)
    options = with_folders_opened(options)
    inputs = find_files(options)
    check_text_options(inputs, options)
    node_data, node_types = open_node_data(options), open_node_types(options)
    rows = rows_expected(inputs, options)
    with new_dataset(output, command_digest(options, inputs), options.overwrite) as (temporary, passes):
        site = Site(options, temporary, passes)
        if not passes.any:
            require_space(inputs, rows, options, node_data, lambda: rows_counted(inputs, options, site.threads))
        with by_workers(options) as workers:
            build = Build(site, inputs, node_data, node_types, workers)
            report = passes.once(LAST, dict[str, Any], [temporary / name for name in WRITTEN_LAST], build.run)
    for line in report["warnings"]:
        log.warning(printable(line))
    return report


@contextmanager
def by_workers(options: Options) -> Generator[WorkerEngine | None, None, None]:
    """Return what has workers run some passes, where they are asked for. They end with the block."""
    if options.workers is None:
        yield None
        return
    with ray_workers(options.workers) as workers:
        engine = WorkerEngine(workers, options)
        engine.say()
        yield engine


@dataclass(frozen=True)
class Build:
    """Runs the passes over ``inputs`` and the files about nodes, one after the other. ``workers``: read and sort, if given."""

    site: Site
    inputs: Sequence[InputFile]
    node_data: NodeData | None
    node_types: TypeSource | None
    workers: WorkerEngine | None = None

    def run(self) -> dict[str, Any]:
        """Write the dataset and return its report."""
        site, options, once = self.site, self.site.options, self.site.passes.once
        site.work.mkdir(exist_ok=True)
        make_groups(site.root)
        gathered = self._read()
        numbering = once(
            "number",
            Numbering,
            [site.work / "number"],
            lambda: number_ids(gathered.dictionaries, options.seed, site.work / "number", options.memory // 2, site.threads),
        )
        kind, names, relation_ids = gathered.relations.finish()
        amounts, carried = Amounts(options, gathered.counts), gathered.shape.carried
        partitioning = Partitioning(numbering.nodes, options.partitions or choose_partitions(numbering.nodes, amounts.stored))
        sizes = partitioning.rows, partitioning.partitions, len(names), len(carried)
        layout = EdgeLayout(*sizes)
        self._require_rest(gathered, numbering, partitioning, layout.words, len(names))
        numbered = NodePasses(site, gathered, numbering, partitioning, relation_ids).run(self.node_data, self.node_types)
        spools = [site.work / table.name for table in (FEATURES, LABELS)]
        tables = once(
            "tables",
            Tables,
            [site.root / TABLES, *spools],
            lambda: write_tables(site, self.node_data, numbered),
            attrgetter("files"),
        )
        dealt = Renumbering(numbered.last.training)
        sort = EdgeSort(site, amounts, layout, relation_ids, numbered.last.apply, dealt.apply)
        writing = EdgeWriting(sort, partitioning, carried, len(names))
        workers = self.workers
        written, tally = writing.run(
            lambda: (
                workers.packed(sort, sizes, gathered, numbering) if workers else sort.pack(with_ids(gathered.edges(), numbering))
            )
        )
        inverse = self._inverse(writing.stored, len(names))
        once(
            "adjacency",
            Files,
            [site.root / ADJACENCY.parent],
            lambda: write_adjacency(site, writing.stored["train"], len(names)),
            all_of_it,
        )
        types = type_facts(site, numbered, writing.stored, names)
        write_relations(site.root / "relations.parquet", kind, names, tally.relation_counts.sum(0))
        manifest = make_manifest(site, self.node_data, PassResults(gathered, numbered, kind, names, tables, tally))
        files.write_atomic(site.root / "zarr.json", manifest.root_json())
        report = make_report(
            manifest,
            gathered.seen,
            tally,
            written.degrees,
            inverse,
            options,
            site.passes.seconds,
            {**tables.said, **types, "sorted_runs": written.runs},
        )
        write_report(site.root / REPORT, report)
        return report

    def _inverse(self, edges: dict[str, EdgeBuckets], relations: int) -> dict[str, int]:
        """Count the edges dealt by --split that a training edge of another relation joins the other way round, by split."""
        options, others = self.site.options, {name: each for name, each in edges.items() if name != SPLITS[0]}
        if options.undirected or not options.fractions:
            return {}
        if relations == 1:
            return dict.fromkeys(others, 0)
        memory = plan.pass_memory(options)
        return self.site.passes.once("inverse", dict[str, int], [], lambda: inverse_edges(edges[SPLITS[0]], others, memory))

    def _read(self) -> Gathered:
        """Run pass `read`. Raises MemoryWanted where its keys do not fit the memory that is left for them."""
        site, folder, bad_rows = self.site, self.site.work / "read", self.site.root / BAD_ROWS
        inputs, about_nodes = self.inputs, (self.node_data, self.node_types)

        def read() -> Gathered:
            if self.workers:
                return self.workers.gather(inputs, site, folder, bad_rows, about_nodes)
            return gather(inputs, site.options, folder, site.threads, BadRows(bad_rows), *about_nodes)

        gathered = site.passes.once("read", Gathered, [folder, bad_rows], read, lambda gathered: gathered.spooled)
        needed = gathered.dictionaries.key_bytes
        if needed > site.options.memory // 4 and not site.passes.any_of("sort", "write"):
            raise MemoryWanted(
                f"--memory: the ids that were read take {format_bytes(needed)} of it, a quarter at most: "
                "give about as much as before and run the same command, which goes on, or start afresh with "
                "--overwrite"
            )
        return gathered

    def _require_rest(
        self, gathered: Gathered, numbering: Numbering, partitioning: Partitioning, words: int, relations: int
    ) -> None:
        """Check, once nodes are numbered, that in-edge lists fit in memory (else MemoryWanted) and all that is to come on disk
        (else RunError)."""
        options, done = self.site.options, self.site.passes.any_of
        if options.adjacency == "in" and not done("adjacency"):
            least = 0 if options.fractions or options.drop_duplicates else gathered.counts[0]  # of the training edges
            edge = list_edge_bytes(partitioning.nodes, relations > 1, "weight" in gathered.shape.carried)
            mean = -(-least // partitioning.partitions)
            require_memory(partitioning, mean, "a partition at the least", edge, plan.pass_memory(options))
        sizes = sizes_after(gathered, numbering, options, words, relations, partitioning.partitions)
        require_rest(DiskPlan(sizes, options, self.node_data, sorted=done("sort")), self.site.root, done)
