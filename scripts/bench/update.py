"""What `marius-lite update` costs beside `marius-lite preprocess`.

    python scripts/bench/update.py --work DIR [--edges 40000000] [--nodes 2000000] [--share 0.01] [--ids int|str] [--rounds 5]

Makes a graph whose nodes are chosen by the square of an even draw, preprocesses it into 8 partitions, and then updates it:
`--rounds` times with the share of new edges, one node in a hundred of them new; three times as often with 2,000 new edges, which
lie in all buckets, so that all stored edges are read, which costs what does not depend on what is new; as often with one edge;
and once without as many stored edges as the share. Prints for each the median of processor seconds (all threads, user and
system), their share of preprocessing, and the bytes of files that share nothing with an older version. Right before each command
one starts that does next to nothing, and its time is taken off: a machine that is faster at one time than at another changes
little. Where that start is most of a command, more rounds make up for it.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

Edges = npt.NDArray[np.int32]
FEW = 2_000


class Source:
    """Edges of a graph, from a seed."""

    def __init__(self, nodes: int):
        self._rng = np.random.default_rng(0)
        self._order = self._rng.permutation(nodes).astype(np.int32)

    def draw(self, count: int, new: int = 0) -> Edges:
        """Return edges, of which so many lead to ``new`` nodes, one to each."""
        places = (len(self._order) * self._rng.random((count, 2)) ** 2).astype(np.int64)
        edges = self._order[places]
        first = len(self._order)
        edges[self._rng.choice(count, new, replace=False), 1] = np.arange(first, first + new)
        self._order = np.concatenate([self._order, np.arange(first, first + new, dtype=np.int32)])
        return edges


def write(path: Path, edges: Edges, ids: str) -> Path:
    """Write edges as an array, or as text with names."""
    if ids == "int":
        np.save(path.with_suffix(".npy"), edges)
        return path.with_suffix(".npy")
    with csv.CSVWriter(
        path.with_suffix(".tsv"), TEXT, write_options=csv.WriteOptions(include_header=False, delimiter="\t")
    ) as file:
        for part in np.array_split(edges, -(-len(edges) // 1_000_000)):
            names = [np.char.add("user_", column.astype(str)) for column in part.T]
            file.write_table(pa.table([pa.array(each) for each in names], schema=TEXT))
    return path.with_suffix(".tsv")


TEXT = pa.schema([("source", pa.string()), ("destination", pa.string())])


def processor_seconds(*arguments: object) -> float:
    """Run a command of marius-lite, and return what it takes of the processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "marius_lite", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def written_bytes(version: Path) -> int:
    """The bytes of files that no other version has."""
    found = (path.stat() for path in version.rglob("*") if path.is_file() and "versions" not in path.relative_to(version).parts)
    return sum(each.st_size for each in found if each.st_nlink == 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--edges", type=int, default=40_000_000)
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--ids", choices=["int", "str"], default="int")
    parser.add_argument("--rounds", type=int, default=5)
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    source, count = Source(a.nodes), int(a.edges * a.share)
    edges = source.draw(a.edges)
    gone, whole = write(a.work / "gone", edges[:: int(1 / a.share)], a.ids), write(a.work / "edges", edges, a.ids)
    del edges
    small = write(a.work / "small", source.draw(2), a.ids)
    print(f"{a.edges:,} edges ({a.ids}), {a.nodes:,} nodes, load {os.getloadavg()[0]:.1f}; start-up is in none of these")

    def taken(*arguments: object) -> float:
        """Return what a command takes beyond one that starts right before it and does next to nothing."""
        start = processor_seconds("preprocess", small, "--output", a.work / "tiny", "--overwrite")
        return processor_seconds(*arguments, "--memory", "2GB") - start

    dataset = a.work / "dataset"
    anew = []
    for _ in range(a.rounds):
        shutil.rmtree(dataset, ignore_errors=True)
        anew.append(taken("preprocess", whole, "--output", dataset, "--partitions", 8))
    print(f"  {'preprocess':24}{statistics.median(anew):6.2f} s           {written_bytes(dataset) / 1e6:8.1f} MB", flush=True)
    version = 1
    cases = ((count, count // 100, a.rounds), (FEW, 0, 3 * a.rounds), (1, 0, 3 * a.rounds), (-count, 0, 1))
    for new, nodes, rounds in cases:
        found, sizes = [], []
        for _ in range(rounds):
            files = ["--remove", gone] if new < 0 else [write(a.work / "new", source.draw(new, nodes), a.ids)]
            found.append(taken("update", dataset, *files))
            version += 1
            sizes.append(written_bytes(dataset / "versions" / str(version)))
        name, share = f"{abs(new):,} {'new' if new > 0 else 'removed'}", 100 * statistics.median(found) / statistics.median(anew)
        size = statistics.median(sizes) / 1e6
        each = " ".join(f"{seconds:.2f}" for seconds in found)
        print(f"  {name:24}{statistics.median(found):6.2f} s  {share:5.1f} %  {size:8.1f} MB   ({each})", flush=True)


if __name__ == "__main__":
    main()
