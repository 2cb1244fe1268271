"""Describe a dataset for `info`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marius_lite.graph.cut import balance, edge_cut
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.report import UNKNOWN, read_report
from marius_lite.graph.versions import describe_versions


def describe_dataset(folder: Path, verify: bool) -> dict[str, Any]:
    """Return a description of a dataset: its manifest without the list of files, how its partitions cut it, its bytes, whether it
    was verified, and what preprocess warned of."""
    dataset = Dataset.open(folder)
    if verify:
        dataset.verify()
    facts = dataset.manifest.model_dump(mode="json", exclude={"files"})
    size = sum(size for size, _ in dataset.manifest.files.values())
    counts = dataset.edges("train").counts
    report = read_report(dataset.path)
    cut = {
        "partitioner": facts["options"].get("partitioner", "random"),
        "edge_cut": edge_cut(counts),
        "balance": balance(counts, dataset.partitioning),
    }
    return {
        "kind": "dataset",
        "path": dataset.address or str(folder),
        **describe_versions(dataset.path),
        **facts,
        **cut,
        "files": len(dataset.manifest.files),
        "bytes": size,
        "verified": verify,
        "warnings": report.get("warnings", []) if report else [UNKNOWN],
    }
