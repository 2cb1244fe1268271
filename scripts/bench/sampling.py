"""Neighbour sampling, edges per second: everything in memory, or some partitions of it.

    python scripts/bench/sampling.py EDGES.npy [--fanouts 15,10,5] [--batch 1000] [--threads 0] [--partitions 1] [--resident 1]

EDGES: .npy (E, 2), made into a dataset with in-edge lists under --work, which a later call uses again. Each round samples the
neighbourhoods of --batches batches of random nodes, all different. Prints each round, the medians and the settings as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path

import numpy as np

from marius_lite.graph import Dataset
from marius_lite.nn.allocator import keep_large_blocks
from marius_lite.preprocess import make_dataset
from marius_lite.sampling.neighbours import NeighbourLists


def dataset_of(a: argparse.Namespace) -> Dataset:
    path = a.work / f"{a.edges.stem}.{a.partitions}"
    return Dataset.open(path) if path.exists() else make_dataset(a.edges, path, partitions=a.partitions, adjacency="in")


def sampling_round(lists: NeighbourLists, seeds: np.ndarray, a: argparse.Namespace, number: int) -> dict[str, float]:
    seconds, edges, nodes, missing, neighbours = [], 0, 0, 0, 0
    for index, batch in enumerate(seeds):
        started = time.perf_counter()
        sample = lists.sample(batch, a.fanouts, (number << 32) + index, a.threads)
        seconds.append(time.perf_counter() - started)
        edges += len(sample.indices)
        nodes += len(sample.nodes)
        missing += sample.missing
        neighbours += sample.neighbours
    return {
        "edges_per_s": round(edges / sum(seconds)),
        "batch_s": round(statistics.median(seconds), 5),
        "edges": edges // len(seeds),
        "nodes": nodes // len(seeds),
        "missing_share": round(missing / neighbours, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edges", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/bench"))
    parser.add_argument("--fanouts", type=lambda text: [int(part) for part in text.split(",")], default=[15, 10, 5])
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="0: all")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--resident", type=int, help="the partitions in memory, evenly spread; default all")
    a = parser.parse_args()
    keep_large_blocks()  # as training does
    a.work.mkdir(parents=True, exist_ok=True)
    dataset = dataset_of(a)
    part = dataset.partitioning
    resident = np.linspace(0, part.partitions, a.resident or part.partitions, endpoint=False).astype(int).tolist()
    lists = NeighbourLists(dataset.adjacency)
    started = time.perf_counter()
    lists.enter({k: k * part.rows for k in resident})
    print(f"entered {lists.edges_moved:,} edges in {time.perf_counter() - started:.2f} s", flush=True)
    here = np.concatenate([np.arange(part.range(k).start, part.range(k).stop) for k in resident])
    rounds = []
    for number in range(a.rounds + 1):
        seeds = np.random.default_rng(number).choice(here, (a.batches, a.batch), replace=False)
        found = sampling_round(lists, seeds, a, number)
        if number:  # the first is to warm up
            rounds.append(found)
            print(json.dumps(found), flush=True)
    medians = {name: statistics.median(found[name] for found in rounds) for name in rounds[0]}
    settings = {
        "fanouts": a.fanouts,
        "batch": a.batch,
        "threads": a.threads or len(os.sched_getaffinity(0)),
        "graph_nodes": part.nodes,
        "graph_edges": dataset.manifest.edges["train"],
        "partitions": part.partitions,
        "resident": len(resident),
        "load": round(os.getloadavg()[0], 2),
    }
    print(json.dumps({"median": medians, "settings": settings}))
    lists.close()


if __name__ == "__main__":
    main()
