"""`update`: a dataset and new edges -> the next version of the dataset. Node and relation ids stay; new ones follow.

    new edges --as in preprocess--> keys, raw ids in order                                              read, number
    raw ids --looked up in nodes.parquet--> node ids, the next ones for new nodes                       places
    nodes.parquet --hard link; new raw ids --> nodes/<version>.parquet                                  names
    edges to remove --as above--> node ids                                                              unwanted
    tables/ --hard links; new nodes have no label--> tables/                                            tables
    edges/<split> --hard links; new edges: a segment beside them; removed ones: holes--> edges/<split>  append
    or, where new or removed edges are many, all edges again:
    edges to remove, edges/<split> --> those that are there                                             remove
    edges/<split> without these, new edges --EdgeLayout.pack--> records --ExternalSort--> sorted runs   sort
    sorted --SplitWriter--> edges/<split>                                                               write
    edges/train --AdjacencyWriter--> adjacency/in, where there was one                                  adjacency
    manifest, report.json; the folder is synced and renamed to ``versions/<number>`` of the dataset

The passes are those of `preprocess`, and go on after an interruption as they do there. The version is there when its folder is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.counted import counted
from marius_lite.errors import UserError
from marius_lite.graph.adjacency import ADJACENCY
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.ids import names_file
from marius_lite.graph.node_columns import TABLES
from marius_lite.graph.report import REPORT, read_report, write_report
from marius_lite.graph.versions import dataset_of, versions
from marius_lite.log import log
from marius_lite.preprocess.disk.passes import LAST, Files, all_of_it
from marius_lite.preprocess.disk.place import make_groups, new_dataset, recover_output
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.edges.adjacency import write_adjacency
from marius_lite.preprocess.edges.buckets import Tally
from marius_lite.preprocess.edges.writing import Written
from marius_lite.preprocess.gather.bad_rows import BAD_ROWS
from marius_lite.preprocess.ids.relations import write_relations
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.readers.source import find_files
from marius_lite.preprocess.repartitioning.nodes import NODES, RELATIONS
from marius_lite.preprocess.updating.appended import AppendedEdges
from marius_lite.preprocess.updating.edges import GrownEdges
from marius_lite.preprocess.updating.nodes import write_grown_names
from marius_lite.preprocess.updating.options import UpdateOptions
from marius_lite.preprocess.updating.read import ReadEdges, read_edges
from marius_lite.preprocess.updating.relations import GrownRelations, grow_relations
from marius_lite.preprocess.updating.removal import Removal, Unwanted, find_removed, read_unwanted
from marius_lite.preprocess.updating.report import grown_manifest, grown_report
from marius_lite.preprocess.updating.segments import SegmentPlan, plan_names
from marius_lite.preprocess.updating.tables import grow_tables
from marius_lite.printable import printable


def update(dataset: str | Path, edges: Sequence[str] = (), remove: Sequence[str] = (), **given: Any) -> dict[str, Any]:
    """Make the next version of a dataset and return its report; ``given``: options of `preprocess` for files of edges.

    Where the newest version was made by the same command of the same files, nothing is done. Raises UserError or RunError. After
    a RunError the same command goes on.
    """
    place = dataset_of(Path(dataset))
    if not place.is_dir():
        return _update(dataset, edges, remove, **given)  # it says what is wrong
    with files.alone(place) as alone:
        if not alone:
            raise UserError(
                f"{place}: another update of this dataset is running: wait for it to end, then give the command again"
            )
        return _update(dataset, edges, remove, **given)


def _update(dataset: str | Path, edges: Sequence[str], remove: Sequence[str], **given: Any) -> dict[str, Any]:
    for folder in versions(dataset_of(Path(dataset))).values():
        recover_output(folder.absolute())
    options = UpdateOptions.parse(dataset, edges, remove, **given)
    command = options.command
    report = read_report(options.old.path)
    if report.get("update", {}).get("command") == command:
        log.info(f"{options.place}: version {options.number - 1} was made by this command of these files: nothing is left to do")
        return report
    _require_space(options)
    digest = hashlib.sha256(repr((command, options.old.fingerprint, options.number)).encode()).hexdigest()
    with new_dataset(options.output.absolute(), digest, overwrite=False) as (temporary, passes):
        if options.output.exists():
            raise UserError(f"{options.output}: another update has made this version: give the command again")
        report = passes.once(
            LAST,
            dict[str, Any],
            [temporary / name for name in (RELATIONS, "zarr.json", REPORT)],
            Update(Site(options.added, temporary, passes), options, command).run,
        )
    for line in report["warnings"]:
        log.warning(printable(line))
    return report


def update_dataset(dataset: str | Path, edges: str | Path | Sequence[str | Path] = (), **options: Any) -> Dataset:
    """Make the next version of a dataset, as `marius-lite update` does, and open it.

    ``edges``, and among the ``options`` ``remove``, ``valid`` and ``test``: a file or pattern, or several. The others are the
    command's, as texts or values. Raises UserError or RunError.
    """
    for name in ("remove", "valid", "test"):
        if name in options:
            options[name] = _several(options[name])
    update(dataset, _several(edges), **options)
    return Dataset.open(dataset)


def summary(dataset: str, report: dict[str, Any]) -> str:
    """Return in one line, for a person, what an update changed."""
    changed, edges = report["update"], ", ".join(f"{entry['stored']:,} {name}" for name, entry in report["edges"].items())
    removed = f", {counted(changed['removed'], 'edge')} removed" if changed["removed"] else ""
    missing = f", {changed['not_there']:,} to remove were not there" if changed["not_there"] else ""
    return printable(
        f"{dataset}: version {changed['version']}: {counted(changed['new_edges'], 'new edge')}, "
        f"{counted(changed['new_nodes'], 'new node')}, {counted(changed['new_relations'], 'new relation')}{removed}{missing}; "
        f"{counted(report['nodes'], 'node')} in {counted(report['partitions'], 'partition')}, edges {edges}, "
        f"{report['seconds']['total']:.1f} s"
    )


def _several(given: str | Path | Sequence[str | Path]) -> list[str]:
    found = [given] if isinstance(given, str | Path) else given
    if not isinstance(found, list | tuple) or not all(isinstance(file, str | Path) for file in found):
        raise UserError(
            f"edges: found {type(given).__name__}: update reads files: write the edges to one, for example with "
            "frame.to_parquet or numpy.save, and give its name"
        )
    return [str(file) for file in found]


def _require_space(options: UpdateOptions, again: bool = False) -> None:
    """Raise UserError where the disk has too little room for another version, with what lies there on the way. ``again``: whether
    stored edges are written again."""
    stored = sum(size for size, _ in options.old.manifest.files.values()) if again else 0
    added = sum(file.path.stat().st_size for file in (*find_files(options.added), *find_files(options.removed)))
    needed = 2 * (stored + added)  # edges are there twice while they are sorted, as records and as columns
    files.require_space(options.output, needed, f"version {options.number} of the dataset")


@dataclass(frozen=True)
class Update:
    """Runs the passes, one after the other. ``command``: what tells this update from another."""

    site: Site
    options: UpdateOptions
    command: str

    def run(self) -> dict[str, Any]:
        """Write the version and return its report."""
        site, options, once = self.site, self.options, self.site.passes.once
        site.work.mkdir(exist_ok=True)
        make_groups(site.root)
        read = read_edges(site, options.old, options.added, "", site.root / BAD_ROWS)
        names = self._names(read)
        relations = grow_relations(options.old, read.gathered.relations.names)
        unwanted = read_unwanted(site, options)
        once("tables", Files, [site.root / TABLES], lambda: grow_tables(site, options, read.placed), all_of_it)
        edges, written, tally = self._edges(read, relations, unwanted)
        write_relations(site.root / RELATIONS, relations.kind, relations.names, tally.relation_counts.sum(0))
        manifest = grown_manifest(site, options, edges, names.recorded(edges.nodes), tally)
        files.write_atomic(site.root / "zarr.json", manifest.root_json())
        report = grown_report(site, edges, manifest, (written, tally), self.command)
        write_report(site.root / REPORT, report)
        return report

    def _names(self, read: ReadEdges) -> SegmentPlan:
        old, raw_ids, root = self.options.old, read.numbering.raw_ids, self.site.root
        plan = plan_names(old, self.options.number, old.manifest.nodes + read.placed.new)
        places = [root / NODES, (root / names_file("0")).parent]
        self.site.passes.once("names", Files, places, lambda: write_grown_names(old, root, raw_ids, read.placed, plan), all_of_it)
        return plan

    def _edges(self, read: ReadEdges, relations: GrownRelations, unwanted: Unwanted) -> tuple[GrownEdges, Written, Tally]:
        """Append the new edges to those that are stored, or, where that cannot be, write all again."""
        site, options = self.site, self.options
        appended = AppendedEdges(site, options, read, relations, Removal(None, dict(options.old.manifest.edges)), unwanted)
        if not site.passes.any_of("sort", "write") and appended.possible and (results := appended.append()) is not None:
            return results
        removal = find_removed(site, options, unwanted)
        if not site.passes.any_of("sort", "write"):
            _require_space(options, again=True)
        edges = GrownEdges(site, options, read, relations, removal)
        written, tally = edges.run()
        training, count = edges.stored[SPLITS[0]], len(relations.names)
        place = site.root / ADJACENCY.parent
        site.passes.once("adjacency", Files, [place], lambda: write_adjacency(site, training, count), all_of_it)
        return edges, written, tally
