"""Index a planted table and ask it: what is measured, beside its limit.

    python scripts/bench/search.py --work DIR [--nodes 10000000] [--dim 100] [--memory 1GB] [--keep-index]

Makes a dataset and a run in DIR (4 GB of rows for 10 M nodes of 100 numbers), unless they are there. Then one process makes the
index (with --keep-index only where there is none), and another opens it, asks 100 questions of each kind and compares the answers
with those of all nodes. Peak RSS is the kernel's, of each process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from machine_facts import cpu_name
from planted_run import plant

QUERIES = 100
LIBRARIES = 400e6
"""Bytes of the libraries, beside the planned memory."""
BUILD = """
import json, resource, sys, time
import marius_lite as ml
start = time.perf_counter()
made = ml.index_run(sys.argv[1], memory=sys.argv[2])
print(json.dumps({**made, "seconds": time.perf_counter() - start, "cpu": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
                  "rss": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""
ASK = """
import json, resource, sys, time
import numpy as np
import marius_lite as ml
run, nodes, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
start = time.perf_counter()
search = ml.open_search(run)
told = {"opened": time.perf_counter() - start}
ids = np.random.default_rng(9).choice(nodes, count, replace=False).tolist()
search.neighbors(ids[:1])
found = {}
for name, ask in (("neighbors", search.neighbors), ("answers", lambda ids: search.answers(ids, known=True))):
    start = time.perf_counter()
    found[name] = ask(ids)
    told[f"{name} s"] = time.perf_counter() - start
told["rss"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
search.close()
with ml.open_search(run, exact=True) as search:
    exact = {"neighbors": search.neighbors(ids), "answers": search.answers(ids, known=True)}
for name, answers in found.items():
    pairs = [({each["id"] for each in one[name]}, {each["id"] for each in other[name]})
             for one, other in zip(answers, exact[name])]
    told[f"{name} recall@10"] = sum(len(one & other) for one, other in pairs) / sum(len(other) for _, other in pairs)
print(json.dumps(told))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--keep-index", action="store_true")
    a = parser.parse_args()
    run = plant(a.work, a.nodes, a.dim, a.memory)
    from marius_lite.sizes import parse_bytes

    planned = parse_bytes(a.memory) + LIBRARIES
    print(f"{cpu_name()}: {a.nodes:,} nodes of {a.dim} numbers, storage.memory={a.memory}")
    if not (a.keep_index and (run / "index" / "inner").exists()):
        made = measured(BUILD, run, a.memory)
        print(f"  {made['kind']}, {made['lists of a query']} of {made['lists']} lists, {made['bytes'] / 1e6:.0f} MB")
        line("made in, s", made["seconds"], 900)
        print(f"  processor time, s{made['cpu']:24.1f}")
        line("peak RSS, MB", made["rss"] / 1e6, planned / 1e6)
    asked = measured(ASK, run, str(a.nodes), str(QUERIES))
    print(f"  opened in, s{asked['opened']:29.2f}")
    line("peak RSS of a search, MB", asked["rss"] / 1e6, planned / 1e6)
    for name in ("neighbors", "answers"):
        line(f"{QUERIES} questions, {name}, s", asked[f"{name} s"], 1.0)
        line(f"recall@10, {name}", asked[f"{name} recall@10"], 0.95, least=True)


def measured(code: str, run: Path, *arguments: str) -> dict[str, float]:
    """Run code in a process of its own, and return what it prints."""
    said = subprocess.run([sys.executable, "-c", code, str(run), *arguments], check=True, capture_output=True, text=True).stdout
    return dict(json.loads(said.splitlines()[-1]))


def line(name: str, value: float, limit: float, least: bool = False) -> None:
    """Print a figure beside its limit."""
    kept = value >= limit if least else value <= limit
    print(f"  {name:28}{value:14.3f}   {'at least' if least else 'at most'} {limit:g}: {'kept' if kept else 'MISSED'}")


if __name__ == "__main__":
    main()
