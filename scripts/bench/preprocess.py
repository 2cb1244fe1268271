"""Speed and memory of `marius-lite preprocess`, from raw files to a published dataset.

    python scripts/bench/preprocess.py [--work DIR] [--edges 100000000] [--nodes 5000000] [--formats int,str,npy]
        [--memory 2GB] [--threads 0] [--rounds 5] [--peer FILE_EDGES]

A power-law graph (data_prep/power_law.py) is made once for each format; every run is a process of its own, timed from its start
to its end. Prints edges per second (median of the rounds, with least and most), seconds by pass, processor seconds, peak RSS, and
whether all rounds wrote the same bytes. Several --memory (comma separated) make a table: each must write the same bytes.
--threads limits the processors a run may use.

--peer: beside it, in turn, polars reads a file of so many integer edges in text, numbers its distinct ids and joins the numbers
to both columns, all in memory, without shuffling, sorting or writing anything.

Files are read from the page cache where they fit it; what is written goes past it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
RUN = "from marius_lite.cli.main import main; main()"
POLARS = """
import sys, time
import polars as pl
start = time.perf_counter()
edges = pl.concat([pl.read_csv(name, separator="\\t", has_header=False, new_columns=["s", "d"]) for name in sys.argv[1:]])
ids = pl.concat([edges["s"], edges["d"]]).unique().to_frame("k").with_row_index("i")
joined = edges.join(ids, left_on="s", right_on="k").join(ids, left_on="d", right_on="k", suffix="_d").select("i", "i_d")
print(len(joined), time.perf_counter() - start, pl.thread_pool_size())
"""


@dataclass(frozen=True)
class Run:
    """One preprocess: seconds as a whole process and of its processors, peak RSS in MB, its report, its data files' digest."""

    seconds: float
    processor: float
    rss: float
    report: dict[str, Any]
    digest: str


def made(work: Path, format: str, nodes: int, edges: int) -> list[Path]:
    """The input files, made if they are not there."""
    folder = work / f"{format}-{nodes}-{edges}"
    if not folder.exists():
        command = [sys.executable, str(REPOSITORY / "data_prep/power_law.py"), str(folder), "--format", format]
        subprocess.run([*command, "--nodes", str(nodes), "--edges", str(edges)], check=True, stdout=subprocess.DEVNULL)
    return sorted(folder.iterdir())


def processors(threads: int) -> set[int]:
    ours = sorted(os.sched_getaffinity(0))
    return set(ours[: threads or len(ours)])


def preprocess(inputs: list[Path], output: Path, memory: str, threads: int) -> Run:
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-c", RUN, "preprocess", *map(str, inputs), "-o", str(output), "--memory", memory, "--json"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])}
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            command,
            stdout=said,
            stderr=subprocess.DEVNULL,
            env=env,
            preexec_fn=lambda: os.sched_setaffinity(0, processors(threads)),
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"preprocess ended with {child.returncode}")
        said.seek(0)
        report = json.loads(said.read())
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, report, digest(output))


def digest(dataset: Path) -> str:
    """SHA-256 over all data files, names included."""
    whole = hashlib.sha256()
    for path in sorted(dataset.rglob("*")):
        if path.is_file() and path.name not in ("report.json",) and path != dataset / "zarr.json":
            whole.update(path.relative_to(dataset).as_posix().encode())
            with open(path, "rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def polars(inputs: list[Path]) -> tuple[int, float, int]:
    """(edges, seconds, threads) of the peer, without loading it."""
    command = [sys.executable, "-c", POLARS, *map(str, inputs)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(said[0]), float(said[1]), int(said[2])


def show(name: str, edges: int, runs: list[Run]) -> None:
    seconds = [run.seconds for run in runs]
    median = statistics.median(seconds)
    passes = ", ".join(f"{k} {v:.1f}" for k, v in runs[-1].report["seconds"].items() if v >= 0.05 and k != "total")
    speed = f"{edges / median / 1e6:.2f} M edges/s ({median:.1f} s; {min(seconds):.1f} to {max(seconds):.1f}, {len(runs)} runs)"
    cost = f"{statistics.median(run.processor for run in runs):.1f} processor s, peak RSS {max(run.rss for run in runs):.0f} MB"
    print(f"{name}: {speed}, {cost}, {runs[-1].report['sorted_runs']} runs on disk; {passes}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--nodes", type=int, default=5_000_000)
    parser.add_argument("--formats", default="int,str,npy")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", type=int, default=0)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = a.work or Path(temporary)
        output = work / "dataset"
        print(f"{a.edges:,} edges, {a.nodes:,} nodes, {len(processors(a.threads))} processors, {a.rounds} rounds", flush=True)
        for format in a.formats.split(",") if a.formats else ():
            inputs, digests = made(work, format, a.nodes, a.edges), set()
            for memory in a.memory.split(","):
                runs = [preprocess(inputs, output, memory, a.threads) for _ in range(a.rounds)]
                digests |= {run.digest for run in runs}
                show(f"{format}, --memory {memory}", a.edges, runs)
            print(f"{format}: SHA-256 {', '.join(sorted(digests))}", flush=True)
        if a.peer:
            compare(made(work, "int", a.nodes * a.peer // a.edges, a.peer), output, a)
        shutil.rmtree(output, ignore_errors=True)


def compare(inputs: list[Path], output: Path, a: argparse.Namespace) -> None:
    ours, theirs = [], []
    for _ in range(a.rounds):
        ours.append(preprocess(inputs, output, a.memory.split(",")[0], a.threads))
        theirs.append(polars(inputs))
    show(f"int, --memory {a.memory.split(',')[0]}, beside the peer", a.peer, ours)
    seconds = statistics.median(seconds for _, seconds, _ in theirs)
    median = statistics.median(run.seconds for run in ours)
    print(
        f"polars, {theirs[0][2]} threads, read + unique + 2 joins in memory: {a.peer / seconds / 1e6:.2f} M edges/s "
        f"({seconds:.1f} s); preprocess takes {median / seconds:.2f} times its time"
    )


if __name__ == "__main__":
    main()
