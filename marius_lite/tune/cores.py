"""Smaller graphs to search on: k-cores of the training graph.

The k-core is what is left when nodes with fewer than k edges are removed until none is. A core keeps what is dense, so that
settings rank on it much as on the whole graph (GraSH, see `tune.rounds`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from marius_lite import files
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.log import log, only_warnings
from marius_lite.preprocess.make import make_dataset
from marius_lite.storage.npy_file import write_npy
from marius_lite.tune.peeling import Left, edges_between, peel_of

NODE_BYTES = 6
"""Bytes a node while cores are found: its edges (uint32), whether it is left, and whether it was in the core before."""
GROWTH = 1.25
"""How many times larger each next k is that is tried."""
LEAST_VALID = 50
"""So many validation edges must be left for figures to tell trials apart."""


def reduced(dataset: Dataset, shares: Sequence[float], folder: Path) -> dict[float, Dataset]:
    """Return for each share of the training edges, below 1, a dataset of the smallest k-core with at least so many of them.

    ``folder``: where they are, or are made. A share without a core that has enough validation edges is left out. The splits of a
    core's dataset are train and valid: the edges of these between its nodes.
    """
    wanted = sorted((share for share in shares if share < 1), reverse=True)
    paths = {share: folder / f"core-{share:.4f}" for share in wanted}
    if not all(path.exists() for path in paths.values()):
        for share, left in _cores(dataset.edges("train"), dataset.manifest.nodes, wanted):
            if not paths[share].exists():
                _make(dataset, left, paths[share])
    return {share: Dataset.open(path) for share, path in paths.items() if (path / "zarr.json").exists()}


def _cores(edges: EdgeBuckets, nodes: int, shares: Sequence[float]) -> Iterator[tuple[float, Left]]:
    """Yield for each share, from the largest on, which nodes are in the last core with so many edges."""
    left, k, peel = np.ones(nodes, np.bool_), 1, peel_of(edges, nodes)
    for share in shares:
        while True:
            core = left.copy()
            following = max(k + 1, int(k * GROWTH))
            if peel(core, following) < share * edges.total:
                break
            left, k = core, following
        log.info("%d-core: %s of %s nodes, for %.0f%% of the edges", k, f"{left.sum():,}", f"{nodes:,}", 100 * share)
        yield share, left


def _make(dataset: Dataset, left: Left, path: Path) -> None:
    """Make the dataset of the edges between the nodes that are left; an empty folder where there are too few to validate on."""
    work = path.with_name(path.name + ".edges")
    files.make_folder(work)
    weighed = "weight" in dataset.manifest.carried
    counts = {
        split: write_npy(work / f"{split}.npy", (block.T for block in edges_between(dataset.edges(split), left, weighed)))
        for split in ("train", "valid")
    }
    if counts["valid"] < LEAST_VALID:
        log.info("%s: %s validation edges are too few: trials take the whole graph", path.name, counts["valid"])
        files.make_folder(path)
    else:
        given: dict[str, Any] = {"valid": work / "valid.npy", "ids": "int"}
        given |= {"columns": "src,rel,dst,weight"} if weighed else {}
        with only_warnings():
            make_dataset(work / "train.npy", path, **given)
    files.remove_tree(work)
