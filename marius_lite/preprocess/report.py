"""report.json: what preprocess read, and what it made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.counted import counted
from marius_lite.graph.cut import balance, edge_cut
from marius_lite.graph.manifest import Manifest
from marius_lite.graph.report import leak_lines
from marius_lite.preprocess.edges.buckets import Tally
from marius_lite.preprocess.edges.degrees import DegreeFacts
from marius_lite.preprocess.gather.facts import InputFacts
from marius_lite.preprocess.gather.misread import count_warnings
from marius_lite.preprocess.gather.two_kinds import two_kinds_lines
from marius_lite.preprocess.options import SPLITS, Options
from marius_lite.preprocess.readers.lines import comment_warnings

ALONE_SHARE = 0.1  # of the nodes
NO_TITLES = (".npy", ".npz", ".parquet", ".zarr")  # files without a first line
DOUBLED = 0.25  # the share of duplicates: it is a half where --undirected stores edges that the files have in both directions


def make_report(
    manifest: Manifest,
    inputs: InputFacts,
    tally: Tally,
    degrees: DegreeFacts,
    inverse: Mapping[str, int],
    options: Options,
    timings: dict[str, float],
    facts: dict[str, Any],
) -> dict[str, Any]:
    """Return the report as a JSON object. ``inverse``: counts of edges dealt by --split. ``facts`` are added as they are."""
    edges = _edge_facts(manifest, tally, degrees, inverse, options)
    return {
        **partition_facts(manifest, tally.bucket_counts[0]),
        "read_as": dict(inputs.read_as),
        "rows_read": inputs.rows,
        "comment_lines": inputs.comments,
        "skipped_rows": {
            "count": inputs.skipped.total(),
            "reasons": dict(inputs.skipped.most_common()),
            "examples": inputs.examples,
        },
        "warnings": [
            *inputs.warnings,
            *facts.get("features", {}).get("warnings", ()),
            *count_warnings(None if _given(inputs, options) else manifest.nodes, inputs.rows, manifest.relations),
            *_two_kinds(manifest, inputs, degrees, edges, options),
            *comment_warnings(inputs.comments, inputs.rows, "edges"),
            *_alone(manifest.nodes, degrees, options),
            *_empty(edges, options),
            *_doubled(edges["train"], options),
            *_drawn_of_times(manifest, options),
            *leak_lines({**facts, "edges": edges}),
        ],
        "self_loops_dropped": inputs.self_loops_dropped,
        "edges": edges,
        "train_degrees": {"out": degrees.out, "in": degrees.into, "nodes_without_edges": degrees.without_edges},
        **facts,
        "seconds": {**timings, "total": round(sum(timings.values()), 3)},
    }


def _edge_facts(
    manifest: Manifest, tally: Tally, degrees: DegreeFacts, inverse: Mapping[str, int], options: Options
) -> dict[str, dict[str, Any]]:
    """Return by split what is stored, and how it overlaps with training."""
    duplicates, self_loops, in_train, reversed_in_train, turned_in_train = tally.totals
    if options.reverses_sought:
        inverse = dict(zip(SPLITS, (turned_in_train - reversed_in_train).tolist()))
    by_split: dict[str, dict[str, Any]] = {}
    for split, name in enumerate(SPLITS):
        if name not in manifest.edges:
            continue
        by_split[name] = {
            "stored": manifest.edges[name],
            "self_loops": int(self_loops[split]),
            "duplicates": int(duplicates[split]),
            "duplicates_dropped": options.drop_duplicates,
        }
        if split:
            by_split[name] |= {
                "also_in_train": int(in_train[split]),
                **({} if options.undirected else {"reverse_in_train": int(reversed_in_train[split])}),
                **({"inverse_in_train": inverse[name]} if name in inverse else {}),
                "unseen_in_train": degrees.unseen_edges[name],
                "nodes_unseen_in_train": degrees.unseen[name],
            }
    return by_split


def _given(inputs: InputFacts, options: Options) -> bool:
    """Whether files give nodes that may have no edge."""
    return inputs.announced or not options.features is options.labels is options.node_types is None


def _alone(nodes: int, degrees: DegreeFacts, options: Options) -> list[str]:
    """Return a line where many nodes stand only in files about nodes."""
    alone = degrees.without_edges - sum(degrees.unseen.values())
    if alone <= 0 or options.features is options.labels is options.node_types is None:
        return []
    if alone == 1 and options.labels is not None and options.labels.suffix not in NO_TITLES:
        return [
            f"1 of {nodes:,} nodes has no edge: if {options.labels} begins with a title that is a number, such as 0, remove it"
        ]
    if alone < ALONE_SHARE * nodes:
        return []
    return [
        f"{alone:,} of {nodes:,} nodes have no edge, and stand only in files about nodes: are ids written there as they are "
        "in the edges?"
    ]


def _two_kinds(
    manifest: Manifest, inputs: InputFacts, degrees: DegreeFacts, edges: dict[str, dict[str, Any]], options: Options
) -> list[str]:
    """Return a line where sources and destinations may be of two kinds that have the same numbers."""
    if manifest.ids != "int" or manifest.relations > 1 or options.undirected or options.drop_self_loops or inputs.announced:
        return []
    loops = edges["train"]["self_loops"]
    return two_kinds_lines(inputs.titles, manifest.nodes, degrees.both, loops, degrees.loops_by_chance)


def _empty(edges: dict[str, dict[str, Any]], options: Options) -> list[str]:
    return [
        f"{name}: --split left no edge for it: there are too few edges for such fractions"
        for name, fraction in zip(SPLITS, options.fractions or ())
        if fraction > 0 and not edges.get(name, {}).get("stored")
    ]


def _drawn_of_times(manifest: Manifest, options: Options) -> list[str]:
    """Return a line where edges have times, and those of validation and test are drawn whatever these are."""
    if not options.fractions or "time" not in manifest.carried:
        return []
    return [
        "--split draws edges at random, whatever their times: figures say how well edges among known ones are told, not later "
        "ones: for these, give the latest edges as files with --valid and --test"
    ]


def _doubled(train: dict[str, Any], options: Options) -> list[str]:
    """Return a line where many edges are stored twice: as the files have them, or because --undirected has stored them so."""
    if options.drop_duplicates or train["duplicates"] < DOUBLED * train["stored"]:
        return []
    if options.undirected:
        return [
            f"train: {train['duplicates']:,} of {train['stored']:,} stored edges stand there twice: the files have many "
            "edges twice, perhaps in both directions, and --undirected stores each both ways: leave that out, or give "
            "--drop-duplicates"
        ]
    return [
        f"train: {train['duplicates']:,} of {train['stored']:,} edges repeat others, and each is trained as often as it stands "
        "there: --drop-duplicates keeps each once, which often tells new edges better"
    ]


def partition_facts(manifest: Manifest, counts: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return what depends on the partitions. ``counts``: training edges of each bucket."""
    square = counts.reshape(manifest.partitions, -1)
    return {
        "nodes": manifest.nodes,
        "relations": manifest.relations,
        "partitions": manifest.partitions,
        "rows_per_partition": manifest.rows_per_partition,
        "ids": manifest.ids,
        "fingerprint": manifest.fingerprint,
        "train_buckets": _sizes(counts),
        "partitioner": manifest.options.get("partitioner", "random"),
        "edge_cut": edge_cut(square),
        "balance": balance(square, manifest.partitioning),
    }


def _sizes(counts: npt.NDArray[np.int64]) -> dict[str, float]:
    return {
        "count": len(counts),
        "empty": int(np.count_nonzero(counts == 0)),
        "min": int(counts.min()),
        "mean": round(float(counts.mean()), 1),
        "max": int(counts.max()),
    }


def summary(report: dict[str, Any]) -> str:
    """Return the report in one line, for a person."""
    edges = ", ".join(f"{entry['stored']:,} {name}" for name, entry in report["edges"].items())
    skipped = f", {counted(report['skipped_rows']['count'], 'row')} skipped" if report["skipped_rows"]["count"] else ""
    left_out = report["comment_lines"]
    comments = f", {counted(left_out, 'line')} of comments left out" if left_out else ""
    return (
        f"{counted(report['nodes'], 'node')}{_node_data(report)}, {counted(report['relations'], 'relation')}, edges {edges}, "
        f"{counted(report['partitions'], 'partition')} ({100 * report['edge_cut']:.1f} % of edges between them)"
        f"{skipped}{comments}, {report['seconds']['total']:.1f} s"
    )


def _node_data(report: dict[str, Any]) -> str:
    parts = []
    if features := report.get("features"):
        parts.append(f"{features['width']} features ({features['dtype']})")
    if labels := report.get("labels"):
        parts.append(f"{labels['classes']} classes" + (", several a node" if labels.get("multi_label") else ""))
    if types := report.get("node_types"):
        parts.append(f"{len(types):,} types")
    split = ", ".join(f"{count:,} {name}" for name, count in report.get("node_split", {}).items())
    return (f" with {' and '.join(parts)}" if parts else "") + (f" ({split})" if split else "")
