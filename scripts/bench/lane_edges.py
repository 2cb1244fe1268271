"""How even the lanes of a round are: what the slowest lane of each trains, times the lanes, beside all edges. Nothing is trained.

    python scripts/bench/lane_edges.py DATASET... [--ranks 2 4] [--epochs 4]

1 is where no lane waits for another. For each dataset, number of lanes and ordering: the mean of the epochs after the first, and
that of the first, which begins with one lane.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite.graph.dataset import Dataset
from marius_lite.ordering.lanes import EVEN_LANES, LANES_BY_EDGES, make_lanes_plan, rounds_of


def of_slowest(counts: npt.NDArray[np.int64], lanes: int, epoch: int, ordering: str) -> float:
    """Return how many times the edges of an epoch its slowest lanes would train if all had as many."""
    rounds = rounds_of(make_lanes_plan(lanes, counts, len(counts), 0, epoch, ordering), lanes)
    slowest = sum(max(sum(int(counts[b]) for step in steps for b in step.buckets) for steps in each) for each in rounds)
    return slowest * lanes / int(counts.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--epochs", type=int, default=4)
    a = parser.parse_args()
    print("| dataset | partitions | lanes | ordering | epochs | first epoch |\n|---|---|---|---|---|---|")
    for path in a.datasets:
        counts = Dataset.open(path).edges("train").counts
        for lanes in a.ranks:
            for ordering in (EVEN_LANES, LANES_BY_EDGES):
                mean = np.mean([of_slowest(counts, lanes, epoch, ordering) for epoch in range(1, a.epochs + 1)])
                first = of_slowest(counts, lanes, 0, ordering)
                print(f"| {path} | {len(counts)} | {lanes} | {ordering} | {mean:.3f} | {first:.3f} |", flush=True)


if __name__ == "__main__":
    main()
