"""Speed and memory of `marius-lite preprocess` from a PostgreSQL server that is started in a temporary folder.

    python scripts/bench/sql.py [--work DIR] [--edges 20000000] [--nodes 1000000] [--memory 512MB] [--rounds 3]

A table of two int8 columns is made once: about 50 MB for a million rows, removed at the end. Every round is a process of its own.
Prints the seconds of the query (until its result is on disk), of pass `read` (until edges are in keys), of both, and of the whole
process with its start; edges per second; the process's peak RSS; processor seconds of the process and of the server.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine_facts import cpu_name
from temporary_postgresql import Server, missing, temporary_server

REPOSITORY = Path(__file__).parents[2]
RUN = "from marius_lite.cli.main import main; main()"
TABLE = """
CREATE UNLOGGED TABLE edges (src int8 NOT NULL, dst int8 NOT NULL);
INSERT INTO edges SELECT (random() * random() * {nodes})::int8, (random() * {nodes})::int8 FROM generate_series(1, {edges});
VACUUM ANALYZE edges;
"""


def seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_of_servers(folder: Path) -> float:
    """Processor seconds of the server's processes that are there now, and of those that have ended."""
    pid = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def one_round(server: Server, output: Path, edges: int, memory: str) -> None:
    command = [sys.executable, "-c", RUN, "preprocess", "--database", server.uri, "SELECT src, dst FROM edges", "-o", str(output)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])}
    used, served, start = seconds_of_children(), seconds_of_servers(server.folder), time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen([*command, "--memory", memory, "--json"], stdout=subprocess.PIPE, stderr=said, env=environment)
        assert child.stdout is not None
        report = json.loads(child.stdout.read() or b"{}")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        whole = time.perf_counter() - start
        said.seek(0)
        lines = said.read()
    if child.returncode:
        sys.exit(lines)
    asked = float(re.search(r"on disk, in ([0-9.]+) s", lines)[1])  # type: ignore[index]
    read = report["seconds"]["read"]
    print(
        f"query {asked:.1f} s, read {read:.1f} s: {edges / (asked + read) / 1e6:.2f} M edges/s; whole {whole:.1f} s: "
        f"{edges / whole / 1e6:.2f} M edges/s; peak RSS {usage.ru_maxrss * 1024 / 1e6:.0f} MB; processor seconds "
        f"{seconds_of_children() - used:.1f} here, {seconds_of_servers(server.folder) - served:.1f} of the server",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "marius-sql")
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--memory", default="512MB")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if reason := missing():
        sys.exit(f"no PostgreSQL server can be started: {reason}")
    print(f"{cpu_name()}, {len(os.sched_getaffinity(0))} processors, load {os.getloadavg()[0]:.1f}; --memory {given.memory}")
    with temporary_server() as server:
        server.run(TABLE.format(nodes=given.nodes, edges=given.edges))
        print(
            f"{server.run('SHOW server_version')}: {int(server.run('SELECT count(*) FROM edges')):,} rows, "
            f"{int(server.run('''SELECT pg_table_size('edges')''')) / 1e6:.0f} MB"
        )
        for _ in range(given.rounds):
            one_round(server, given.work / "dataset", given.edges, given.memory)
            shutil.rmtree(given.work)


if __name__ == "__main__":
    main()
