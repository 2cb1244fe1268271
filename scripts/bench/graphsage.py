"""GraphSAGE on the CPU, training seeds per second, beside a peer in turn: everything in memory, the real `train` command.

    python scripts/bench/graphsage.py EDGES.npy [--rounds 5] [--precision mixed] [--work FOLDER]
        [--peer FILE.py --peer-python PYTHON]

EDGES: .npy (E, 2) of nodes 0 to --nodes - 1. Features (128 random float32) and 40 classes are made up. Three layers, 128 wide,
batches of 1,000, Adam. Ours and the peer run in turn in new processes, with the same threads; the peer gets the tuned allocator
through GLIBC_TUNABLES, ours sets its own, and prints "train: N seeds/s". Seeds per second: the batch size over the
median time from one batch's end to the next one's, after a warm-up. Prints each round, the medians and their ratio as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
from commands import options
from machine_facts import cpu_name, peers_environment

from marius_lite import make_dataset, open_dataset
from marius_lite.metrics import read

WARM_UP = 5
WIDTH, CLASSES = 128, 40


def dataset_of(a: argparse.Namespace) -> Path:
    """Made once for --work: random features and labels, as many training nodes as batches ask for."""
    path: Path = a.work / f"{a.edges.stem}.sage"
    if path.exists():
        open_dataset(path)
        return path
    rng = np.random.default_rng(0)
    a.work.mkdir(parents=True, exist_ok=True)
    features = np.lib.format.open_memmap(a.work / "features.npy", "w+", np.float32, (a.nodes, WIDTH))
    for start in range(0, a.nodes, 1 << 16):
        features[start : start + (1 << 16)] = rng.random((len(features[start : start + (1 << 16)]), WIDTH), np.float32)
    np.save(a.work / "labels.npy", rng.integers(CLASSES, size=a.nodes))
    np.save(a.work / "train.npy", rng.permutation(a.nodes)[: a.batch * (a.batches + WARM_UP)])
    make_dataset(
        [str(a.edges)],
        path,
        features=a.work / "features.npy",
        labels=a.work / "labels.npy",
        train_nodes=a.work / "train.npy",
        partitions=a.partitions,
    )
    return path


def ours(a: argparse.Namespace, dataset: Path) -> float:
    run = a.work / "run"
    shutil.rmtree(run, ignore_errors=True)
    settings = {
        "task": "node_classification",
        "model.encoder": a.encoder,
        "model.layers": f"[{WIDTH},{WIDTH}]",
        "sampling.fanouts": f"[{a.fanouts}]",
        "training.epochs": 1,
        "training.batch_size": a.batch,
        "training.threads": a.threads,
        "optimizer.dense.name": "adam",
        "optimizer.dense.lr": 0.003,
        "evaluation.every_epochs": 0,
        "training.staleness": a.staleness,
        "training.precision": a.precision,
    }
    sets = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    program = [sys.executable, "-c", "from marius_lite.cli.main import main; main()"]
    command = [*program, "train", str(dataset), "--run", str(run), "--config", "preset:plain", *sets]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": str(a.threads)})
    times = np.array([line["time"] for line in read(run / "metrics.jsonl") if line["kind"] == "batch"])
    return a.batch / float(np.median(np.diff(times)[WARM_UP:]))


def peer(a: argparse.Namespace) -> float:
    command = [
        a.peer_python,
        str(a.peer),
        str(a.edges),
        *options(nodes=a.nodes, threads=a.threads, batch=a.batch, batches=a.batches),
    ]
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=peers_environment()).stdout
    found = re.search(r"train: (\d+) seeds/s", out)
    assert found, out
    return float(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edges", type=Path)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fanouts", default="15,10,5")
    parser.add_argument("--encoder", default="sage")
    parser.add_argument("--precision", choices=("float32", "mixed"), default="float32")
    parser.add_argument("--staleness", type=int, default=0)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--work", type=Path, default=Path("build/bench"))
    a = parser.parse_args()
    dataset = dataset_of(a)
    rates: dict[str, list[float]] = {"ours": [], **({"peer": []} if a.peer else {})}
    for number in range(a.rounds):
        rates["ours"].append(ours(a, dataset))
        if a.peer:
            rates["peer"].append(peer(a))
        print(number, {name: round(values[-1]) for name, values in rates.items()}, file=sys.stderr, flush=True)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratio = {"ratio": medians["ours"] / medians["peer"]} if a.peer else {}
    print(
        json.dumps(
            {"cpu": cpu_name(), "seeds_per_s": medians, **ratio, "settings": {key: str(value) for key, value in vars(a).items()}}
        )
    )


if __name__ == "__main__":
    main()
