"""`repartition`: a dataset again with another number of partitions, from the dataset alone. Node ids stay as they are.

    nodes.parquet --raw ids, types--> nodes.parquet, row groups by the new partitions                names
    tables/ --rows--> tables/, a chunk for each new partition                                        tables
    edges/<split> --EdgeLayout.pack_stored--> records --ExternalSort--> sorted runs                  sort
    sorted --SplitWriter--> edges/<split>                                                            write
    edges/train --AdjacencyWriter--> adjacency/in, where there was one                               adjacency

Everything streams. As in `preprocess`, passes are remembered, and the finished folder is renamed into place.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.graph.adjacency import ADJACENCY
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.node_columns import TABLES
from marius_lite.graph.report import REPORT, write_report
from marius_lite.preprocess.disk.passes import LAST, Files, all_of_it
from marius_lite.preprocess.disk.place import check_output, make_groups, new_dataset
from marius_lite.preprocess.disk_plan import SMALL_FILES, require_more
from marius_lite.preprocess.edges.buckets import bucket_bytes, tallied_bytes
from marius_lite.preprocess.edges.degrees import in_degrees_bytes
from marius_lite.preprocess.repartitioning.edges import EdgeRepartition
from marius_lite.preprocess.repartitioning.nodes import NODES, RELATIONS, rewrite_names, rewrite_tables, row_tables
from marius_lite.preprocess.repartitioning.options import RepartitionOptions
from marius_lite.preprocess.repartitioning.report import repartitioned_manifest, repartitioned_report
from marius_lite.preprocess.repartitioning.site import RepartitionSite


def repartition(options: RepartitionOptions) -> dict[str, Any]:
    """Make the dataset and return its report. Raises UserError or RunError. After a RunError the same command goes on."""
    check_output(options.output, options.overwrite)
    with new_dataset(options.output, options.digest, options.overwrite) as (temporary, passes):
        report = passes.once(
            LAST,
            dict[str, Any],
            [temporary / "zarr.json", temporary / REPORT],
            Repartition(RepartitionSite(options, temporary, passes)).run,
        )
    return report


def repartition_dataset(dataset: str | Path, output: str | Path, partitions: int, **options: Any) -> Dataset:
    """Make a dataset again, as `marius-lite repartition` does. ``options``: ``memory``, text or bytes, and ``overwrite``.

    Raises UserError or RunError.
    """
    repartition(RepartitionOptions.parse(dataset, output, partitions, **options))
    return Dataset.open(output)


@dataclass(frozen=True)
class Repartition:
    """The passes, one after the other."""

    site: RepartitionSite

    def run(self) -> dict[str, Any]:
        """Write the dataset and return its report."""
        site, once, edges = self.site, self.site.passes.once, EdgeRepartition(self.site)
        self._require_space(edges)
        site.work.mkdir(exist_ok=True)
        make_groups(site.root)
        once("names", type(None), [site.root / NODES, site.root / RELATIONS], lambda: rewrite_names(site))
        once("tables", Files, [site.root / TABLES], lambda: rewrite_tables(site), all_of_it)
        edges.sort_and_write()
        once("adjacency", Files, [site.root / ADJACENCY.parent], edges.write_adjacency, all_of_it)
        manifest = repartitioned_manifest(site)
        files.write_atomic(site.root / "zarr.json", manifest.root_json())
        report = repartitioned_report(site, manifest)
        write_report(site.root / REPORT, report)
        return report

    def _require_space(self, edges: EdgeRepartition) -> None:
        """Raise UserError where the disk has too little room, before anything is done. Once there are finished passes it is a
        RunError, after which the same command goes on."""
        site, old, new = self.site, self.site.old.partitioning, self.site.partitioning
        purpose = f"repartitioning {edges.total:,} edges"
        needed = sum(size for size, _ in site.manifest.files.values()) + in_degrees_bytes(new.nodes, edges.total) + SMALL_FILES
        if not (edges.fits or site.passes.any_of("write")):
            needed += edges.record_bytes
        more_buckets = max(0, new.partitions**2 - old.partitions**2)
        needed += more_buckets * bucket_bytes(len(site.options.splits), site.carried) + tallied_bytes(new.partitions)
        needed += sum(new.partitions * rows.table.stride for rows in row_tables(site.old).values())  # the last chunk is filled up
        if site.passes.any:
            require_more(site.root, needed, purpose, site.options.output)
        else:
            files.require_space(site.options.output, needed, purpose)
