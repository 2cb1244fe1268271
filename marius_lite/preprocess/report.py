"""report.json: what preprocess saw and made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.files import write_atomic
from marius_lite.graph.cut import balance, edge_cut
from marius_lite.graph.manifest import Manifest
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.buckets import Tally
from marius_lite.preprocess.gather import Seen
from marius_lite.preprocess.options import SPLITS, Options

QUANTILES = (0.5, 0.9, 0.99)


def make_report(manifest: Manifest, seen: Seen, tally: Tally, options: Options, timings: dict[str, float],
                facts: dict[str, Any]) -> dict[str, Any]:
    """The report as a JSON object; ``facts`` are added as they are."""
    splits = [(split, name) for split, name in enumerate(SPLITS) if name in manifest.edges]
    duplicates, self_loops, in_train = tally.totals
    buckets = tally.bucket_counts[0].reshape(manifest.partitions, -1)
    unseen = {
        name: int(np.count_nonzero((tally.seen & 1 == 0) & (tally.seen >> split & 1 == 1)))
        for split, name in splits[1:]
    }
    return {
        "nodes": manifest.nodes,
        "relations": manifest.relations,
        "partitions": manifest.partitions,
        "rows_per_partition": manifest.rows_per_partition,
        "ids": manifest.ids,
        "fingerprint": manifest.fingerprint,
        "read_as": dict(seen.read_as),
        "rows_read": seen.rows,
        "comment_lines": seen.comments,
        "skipped_rows": {
            "count": seen.skipped.total(),
            "reasons": dict(seen.skipped.most_common()),
            "examples": seen.examples,
        },
        "warnings": [seen.warning] if seen.warning else [],
        "self_loops_dropped": seen.self_loops_dropped,
        "edges": {
            name: {
                "stored": manifest.edges[name],
                "self_loops": int(self_loops[split]),
                "duplicates": int(duplicates[split]),
                "duplicates_dropped": options.drop_duplicates,
                **(
                    {"also_in_train": int(in_train[split]), "nodes_unseen_in_train": unseen[name]}
                    if split
                    else {}
                ),
            }
            for split, name in splits
        },
        "train_degrees": {
            "out": _degrees(tally.out_degrees),
            "in": _degrees(tally.in_degrees),
            "nodes_without_edges": int(np.count_nonzero(tally.seen & 1 == 0)),
        },
        "train_buckets": _sizes(tally.bucket_counts[0]),
        "partitioner": options.partitioner,
        "edge_cut": edge_cut(buckets),
        "balance": balance(buckets, Partitioning(manifest.nodes, manifest.partitions)),
        **facts,
        "seconds": {**timings, "total": round(sum(timings.values()), 3)},
    }


def _degrees(degrees: npt.NDArray[np.uint32]) -> dict[str, float]:
    """Mean, quantiles and maximum, from a histogram so that nothing is copied or sorted."""
    counts = np.bincount(degrees[:0], minlength=1)
    for at in range(0, len(degrees), 1 << 20):
        part = np.bincount(degrees[at : at + (1 << 20)])
        if len(part) > len(counts):
            counts, part = part, counts
        counts[: len(part)] += part
    below = np.cumsum(counts)
    quantiles = {f"p{round(100 * q)}": int(np.searchsorted(below, q * below[-1])) for q in QUANTILES}
    return {"mean": round(float(degrees.mean()), 3), **quantiles, "max": int(degrees.max())}


def _sizes(counts: npt.NDArray[np.int64]) -> dict[str, float]:
    return {
        "count": len(counts),
        "empty": int(np.count_nonzero(counts == 0)),
        "min": int(counts.min()),
        "mean": round(float(counts.mean()), 1),
        "max": int(counts.max()),
    }


def write_report(path: Path, report: dict[str, Any]) -> None:
    write_atomic(path, json.dumps(report, indent=1).encode() + b"\n")


def summary(report: dict[str, Any]) -> str:
    """One line for a person."""
    edges = ", ".join(f"{entry['stored']:,} {name}" for name, entry in report["edges"].items())
    skipped = f", {report['skipped_rows']['count']:,} rows skipped" if report["skipped_rows"]["count"] else ""
    return (
        f"{report['nodes']:,} nodes{_node_data(report)}, {report['relations']:,} relations, edges {edges}, "
        f"{report['partitions']} partitions ({100 * report['edge_cut']:.1f} % of edges between them){skipped}, "
        f"{report['seconds']['total']:.1f} s"
    )


def _node_data(report: dict[str, Any]) -> str:
    said = []
    if features := report.get("features"):
        said.append(f"{features['width']} features ({features['dtype']})")
    if labels := report.get("labels"):
        said.append(f"{labels['classes']} classes")
    split = ", ".join(f"{count:,} {name}" for name, count in report.get("node_split", {}).items())
    return (f" with {' and '.join(said)}" if said else "") + (f" ({split})" if split else "")
