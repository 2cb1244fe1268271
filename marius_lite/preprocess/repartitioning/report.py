"""The manifest and the report of a dataset that `repartition` made: the old ones, with what the new partitions change."""

from __future__ import annotations

from typing import Any

import numpy as np

import marius_lite
from marius_lite import files
from marius_lite.graph.manifest import GROWN, Manifest, training_partitions
from marius_lite.graph.report import UNKNOWN, read_report
from marius_lite.preprocess.disk.place import checksums
from marius_lite.preprocess.repartitioning.site import RepartitionSite
from marius_lite.preprocess.report import partition_facts


def repartitioned_manifest(site: RepartitionSite) -> Manifest:
    """Return the new manifest, sealed. Reads the files whose checksums no pass knows."""
    counts, new = site.manifest.node_split, site.partitioning
    return site.manifest.model_copy(
        update={
            "format_version": min(site.manifest.format_version, GROWN),
            "program_version": marius_lite.__version__,
            "segments": None,
            "names": None,
            "partitions": new.partitions,
            "rows_per_partition": new.rows,
            "training_partitions": training_partitions(counts, site.manifest.training, new),
            "files": checksums(site.root, site.passes.files),
        }
    ).sealed()


def repartitioned_report(site: RepartitionSite, manifest: Manifest) -> dict[str, Any]:
    """Return what the old report says, if it is still there; what the partitions hold now; and which dataset this was made of."""
    nothing = {"edges": {name: {"stored": count} for name, count in manifest.edges.items()}, "warnings": [UNKNOWN]}
    report = read_report(site.old.path) or nothing
    report.pop("sorted_runs", None)
    seconds = site.passes.seconds
    return {
        **report,
        **partition_facts(manifest, files.read_numbers(site.work / "counts", np.int64)),
        "repartitioned": {"partitions": site.manifest.partitions, "fingerprint": site.manifest.fingerprint},
        "seconds": {**seconds, "total": round(sum(seconds.values()), 3)},
    }
