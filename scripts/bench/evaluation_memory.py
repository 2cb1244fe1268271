"""Peak memory of ranking a fixed number of edges, for datasets with different numbers of edges.

    python scripts/bench/evaluation_memory.py DATASET [DATASET ...] [--edges 1000] [--memory 1GB] [--work DIR]

Each dataset is ranked in a new process, with fresh rows (training changes no size), all nodes as candidates, known edges
of all splits filtered. Prints the seconds and the kernel's peak RSS of each process, and of one that only loads the libraries.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

CODE = """
import resource, sys, time
from pathlib import Path
from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.nn.torch_settings import prepare_torch
from marius_lite.rows.first_rows import initialise
from marius_lite.rows.table import create_table
from marius_lite.tasks.link_evaluation import RankedEdges, evaluate_split
from marius_lite.tasks.link_model import make_model
from marius_lite.tasks.resolved import resolved

folder, work, edges, memory = sys.argv[1:]
if folder:
    dataset = Dataset.open(folder)
    config, plan = resolved(dataset, load(sets=[f"storage.memory={memory}", "evaluation.split=train"]))
    prepare_torch(config)
    table = create_table(Path(work), dataset, config)
    with PartitionBuffer(table, plan.slots) as buffer:
        initialise(buffer, config)
        start = time.perf_counter()
        result = evaluate_split(dataset, buffer, make_model(dataset, config), config, RankedEdges("train", int(edges)))
        print(f"{dataset.manifest.edges['train']:,} edges in the graph, {result['count']} ranked among "
              f"{dataset.manifest.nodes:,} nodes in {time.perf_counter() - start:.0f} s, planned {plan.total / 1e6:.0f} MB",
              end=": ")
else:
    print("libraries alone", end=": ")
print(f"peak RSS {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--edges", default="1000")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--work", default=None)
    a = parser.parse_args()
    for dataset in ["", *a.datasets]:
        with tempfile.TemporaryDirectory(dir=a.work) as work:
            subprocess.run([sys.executable, "-c", CODE, dataset, str(Path(work) / "live"), a.edges, a.memory], check=True)


if __name__ == "__main__":
    main()
