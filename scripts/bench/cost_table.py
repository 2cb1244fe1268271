"""What three large graphs cost on several machines, derived from measured constants: the table of docs/scale.md.

    python scripts/bench/cost_table.py

Nothing here was run on several machines. Bytes follow from the program's own formulas and plans. Times follow from the constants
below, each of which was measured by the command beside it; docs/performance.md has the measurement. Training is taken to grow
with the cores of a machine, preprocess is not. The network is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marius_lite.ordering.lanes import make_lanes_plan
from marius_lite.preprocess.edges.buckets import edge_bytes
from marius_lite.storage.record import record_of

# measured
READ_AND_SORT = (32 + 31) / 1e9  # seconds an edge, two cores: marius-lite preprocess, 1,000 M edges of data_prep/power_law.py
OTHER_PASSES = (134 - 32 - 31) / 1e9  # the same
NAME_BYTES = (12.5e9 - 12 * 1e9) / 99.7e6  # of a node, dense integers: the same
TRAINED = 124_766 / 2  # edges a second, one core, 100 numbers: scripts/bench/lanes.py DATASET --set model.dim=100, FB15k-237
LANES_SHARE = 102_933 / 124_766  # of that speed with two lanes in two processes: the same
SEEDS = 11_800  # a second, one core, GraphSAGE in mixed precision: scripts/bench/graphsage.py --threads 1 --precision mixed

# assumed
CORES = 16  # of a machine
NETWORK = 1.25e9  # bytes a second into a machine: 10 Gbit/s
CHECKPOINTS = 2  # kept beside the live rows

DIM, BATCH, NODE_BATCH = 100, 100_000, 1_000
HIDDEN = 128  # of two hidden layers, as where SEEDS was measured
MACHINES = (1, 4, 16)
GROUP = 4  # partitions in each of the ranks * ranks groups; one machine has a quarter of them resident


@dataclass(frozen=True)
class Graph:
    """``features``: of a node, 0 where rows are learned. ``seeds``: training nodes, where classes of nodes are learned."""

    name: str
    nodes: int
    edges: int
    relations: int
    features: int = 0
    seeds: int = 0
    classes: int = 0


GRAPHS = [
    Graph("Freebase86m, 100 numbers", 86_054_151, 304_727_650, 14_824),
    Graph("10^11 edges, 3 * 10^9 nodes, 100 numbers", 3_000_000_000, 100_000_000_000, 1),
    Graph("papers100M, GraphSAGE", 111_059_956, 1_615_685_872, 1, 128, 1_207_179, 172),
]
COLUMNS = (
    "| graph | machines | preprocess | dataset | run | memory of a machine | trains an epoch | comes to a machine in it "
    "| takes, at 10 Gbit/s |"
)


def row(graph: Graph, machines: int) -> str:
    """Return a line of the table."""
    speed = CORES * machines * (1 if machines == 1 else LANES_SHARE)
    preprocess = graph.edges * (READ_AND_SORT / machines + OTHER_PASSES)
    dataset = graph.edges * edge_bytes(()) + graph.nodes * (NAME_BYTES + 4 * graph.features)
    if graph.features:
        lists = graph.nodes * 8 + graph.edges * 4
        run = weights = 4 * 2 * HIDDEN * (graph.features + HIDDEN + graph.classes)
        dataset, memory = dataset + lists, lists + graph.nodes * 4
        seconds = graph.seeds / (SEEDS * speed)
        moved = graph.seeds / NODE_BATCH * weights * (machines - 1)
        run *= 3 * (1 + CHECKPOINTS)
    else:
        rows = graph.nodes * record_of("adagrad", DIM).stride
        run, memory = rows * (1 + CHECKPOINTS), rows / max(machines, GROUP)
        seconds = graph.edges / (TRAINED * speed)
        moved = handed_over(machines) * rows
        touched = min(graph.relations, BATCH // machines)
        moved += graph.edges / BATCH * touched * DIM * 4 * (machines - 1)
    cells = [graph.name, str(machines), hours(preprocess), size(dataset), size(run), size(memory), hours(seconds)]
    return "| " + " | ".join([*cells, size(moved), hours(moved / NETWORK)]) + " |"


def handed_over(machines: int) -> float:
    """Return which share of all rows comes to a machine in an epoch, when lanes change groups."""
    if machines == 1:
        return 0.0
    partitions = machines**2 * GROUP
    plan = make_lanes_plan(machines, np.ones((partitions, partitions), np.int64), partitions // machines, 0, 1)
    return sum(len(step.load) for step in plan.steps if step.lane == 0) / partitions


def hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.2g} s"


def size(count: float) -> str:
    unit = next((unit for unit, bytes_ in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)) if count >= bytes_), "MB")
    return f"{count / {'TB': 1e12, 'GB': 1e9, 'MB': 1e6}[unit]:.3g} {unit}"


def table() -> list[str]:
    """Return the lines of the table."""
    return [
        COLUMNS,
        "|" + "---|" * COLUMNS.count(" | ") + "---|",
        *(row(graph, number) for graph in GRAPHS for number in MACHINES),
    ]


if __name__ == "__main__":
    print("\n".join(table()))
