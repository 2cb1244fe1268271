"""The manifest and the report of a version that `update` made."""

from __future__ import annotations

import dataclasses
from typing import Any

import marius_lite
from marius_lite.graph.holes import HOLES
from marius_lite.graph.manifest import GROWN, HOLED, SEGMENTED, Ancestor, Manifest, Segment, training_partitions
from marius_lite.graph.report import read_report
from marius_lite.preprocess.disk.place import checksums
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.edges.buckets import Tally
from marius_lite.preprocess.edges.writing import Written
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.report import make_report
from marius_lite.preprocess.updating.edges import GrownEdges
from marius_lite.preprocess.updating.options import UpdateOptions

OF_NODES = ("features", "labels", "node_split", "node_types")
"""What the old report says of nodes, and the new one too."""


def grown_manifest(
    site: Site, options: UpdateOptions, edges: GrownEdges, names: tuple[Segment, ...] | None, tally: Tally
) -> Manifest:
    """Return the new manifest, sealed. ``names``: the segments of the nodes' names. Reads the files whose checksums no pass
    knows."""
    old, partitioning = options.old.manifest, edges.partitioning
    sources = {*old.sources, *edges.read.gathered.seen.sources}
    files = checksums(site.root, site.passes.files)
    holed = any(f"/{HOLES}/" in name for name in files)
    before = Ancestor(fingerprint=old.fingerprint, nodes=old.nodes, relations=old.relations)
    return old.model_copy(
        update={
            "format_version": HOLED if holed else SEGMENTED if edges.segments or names else GROWN,
            "segments": edges.segments,
            "names": names,
            "program_version": marius_lite.__version__,
            "lineage": (*(old.lineage or ()), before),
            "nodes": partitioning.nodes,
            "relations": len(edges.relations.names),
            "relation_ids": edges.relations.kind,
            "edges": {name: int(tally.bucket_counts[SPLITS.index(name)].sum()) for name in options.added.splits},
            "partitions": partitioning.partitions,
            "training_partitions": training_partitions(old.node_split, old.training, partitioning),
            "self_loops": int(tally.totals[1][0]),
            "sources": sorted(sources, key=lambda s: (s.name, s.size, s.crc32c)),
            "files": files,
        }
    ).sealed()


def grown_report(
    site: Site, edges: GrownEdges, manifest: Manifest, results: tuple[Written, Tally], command: str
) -> dict[str, Any]:
    """Return the report of all edges, as `preprocess` makes it, with what this update read and changed. ``command``: what tells
    the update from another."""
    options, (written, tally) = edges.options, results
    old, seen = options.old, dataclasses.replace(edges.read.gathered.seen, announced=True)  # the nodes are not those of its rows
    before = read_report(old.path)
    facts = {name: value for name, value in before.items() if name in OF_NODES}
    report = make_report(
        manifest, seen, tally, written.degrees, {}, options.added, site.passes.seconds, {**facts, "sorted_runs": written.runs}
    )
    removal = edges.removal
    return {
        **report,
        "warnings": [*report["warnings"], *removal.warnings],
        "update": {
            "version": options.number,
            "new_nodes": manifest.nodes - old.manifest.nodes,
            "new_relations": manifest.relations - old.manifest.relations,
            "new_edges": sum(manifest.edges.values()) - sum(removal.left.values()),
            **removal.facts,
            "command": command,
        },
    }
