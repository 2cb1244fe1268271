"""Shared by the tests of preprocess: make a dataset, read it back as raw edges or bytes, find shared data."""

import os
from collections import Counter
from pathlib import Path

import pytest

from marius_lite.preprocess import make_dataset

SHARED = Path(os.environ.get("MARIUS_SHARED", Path(__file__).parents[2] / "../shared"))


def make(output, edges, **options):
    return make_dataset(edges, output, **options)


def decoded(dataset, split="train"):
    """The multiset of raw (src, rel, dst)."""
    edges, p = dataset.edges(split), dataset.partitioning
    nodes = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
    relations = dataset.relation_names()
    found = Counter()
    for i in range(p.partitions):
        for j in range(p.partitions):
            for s, d, r in zip(*(column.tolist() for column in edges.read(i, j))):
                found[nodes[p.range(i)[s]], relations[r], nodes[p.range(j)[d]]] += 1
    return found


def shared(name):
    """A file of the shared data; the test is skipped where there is none."""
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"no shared data at {path}: set MARIUS_SHARED")
    return path


def data_files(folder):
    """Relative path -> bytes, but for the report (it holds timings)."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "report.json"
    }
