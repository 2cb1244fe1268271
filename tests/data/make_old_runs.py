"""Pack datasets and runs of one state of the program, and what it made of them, for tests/end_to_end/test_old_runs.py.

    python tests/data/make_old_runs.py PROGRAM ARCHIVE     # PROGRAM: the `marius-lite` of a virtual environment

ARCHIVE is called by the program's commit, as in 20403ca.tar.xz. It has a folder for each kind of run:

    dataset, run               as the program left them; `run` was stopped within its third epoch of four
    queries.tsv                what `predict` is asked
    recorded.json, exported    what the program then made of a copy: results of commands, and how the finished run learned
"""

import json
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np

COMMON = [
    "training.threads=1",
    "training.precision=float32",
    "training.epochs=4",
    "evaluation.every_epochs=1",
    "checkpoint.keep=1",
    "checkpoint.keep_best=false",
    "storage.direct_io=false",
]
LINKS = ["model.dim=8", "training.batch_size=20", "negatives.count=20", "negatives.chunks=1", "storage.capacity=2"]
ENCODER = ["model.encoder=sage", "model.layers=[8]", "sampling.fanouts=[5,5]"]
SETTINGS = {
    "links": [*LINKS, "storage.ordering=comet"],
    "encoded": [*LINKS, *ENCODER, "model.decoder=distmult", "model.inputs=features", "training.batch_size=40"],
    "classes": [
        *ENCODER,
        "task=node_classification",
        "training.batch_size=10",
        "optimizer.dense.name=adam",
        "optimizer.dense.lr=0.01",
        "storage.capacity=4",
    ],
}
NODES = 200


def main(program, archive):
    with tempfile.TemporaryDirectory() as scratch:
        made, raw = Path(scratch, "made"), Path(scratch, "raw")
        raw.mkdir()
        write_raw(raw)
        for kind, settings in SETTINGS.items():
            folder = made / kind
            folder.mkdir(parents=True)
            (folder / "queries.tsv").write_text("node3\n" if kind == "classes" else "node7\trel1\t?\n?\trel2\tnode20\n")
            call(program, "preprocess", *preprocessing(raw, kind), "--output", folder / "dataset", "--partitions", "4")
            stop_in_third_epoch(program, folder, [part for item in COMMON + settings for part in ("--set", item)])
            (folder / "recorded.json").write_text(json.dumps(record(program, folder, Path(scratch, "copy")), indent=1))
        with tarfile.open(archive, "w:xz") as packed:
            packed.add(made, ".")


def write_raw(raw):
    """Files of 200 nodes, 3 relations and 1,200 edges; a node's destinations are near it."""
    rng = np.random.default_rng(0)
    src, rel = rng.integers(NODES, size=1200), rng.integers(3, size=1200)
    dst = (src + 10 * rel + rng.integers(5, size=1200)) % NODES
    lines = {
        "edges.tsv": [f"node{s}\trel{r}\tnode{d}" for s, r, d in zip(src, rel, dst)],
        "types.tsv": [f"node{n}\t{('odd', 'even')[n % 2]}" for n in range(NODES)],
        "ids.txt": [f"node{n}" for n in range(NODES)],
        "labels.tsv": [f"node{n}\tclass{4 * n // NODES}" for n in range(NODES)],
    }
    for name, text in lines.items():
        (raw / name).write_text("\n".join(text) + "\n")
    angles = np.arange(NODES)[:, None] * (2 * np.pi / NODES) * np.array([1, 5, 20])
    np.save(raw / "features.npy", np.concatenate([np.cos(angles), np.sin(angles)], 1).astype(np.float16))


def preprocessing(raw, kind):
    known, split = ["--features", raw / "features.npy", "--node-ids", raw / "ids.txt"], ["--split", "0.8,0.1,0.1"]
    return [
        raw / "edges.tsv",
        *{
            "links": [*split, "--node-types", raw / "types.tsv"],
            "encoded": [*split, "--adjacency", "in", *known],
            "classes": ["--labels", raw / "labels.tsv", "--node-split", "0.5,0.2,0.3", *known],
        }[kind],
    ]


def stop_in_third_epoch(program, folder, settings):
    """Train until SIGTERM, which saves within an epoch; again where the run was faster than the signal."""
    for _ in range(20):
        shutil.rmtree(folder / "run", ignore_errors=True)
        training = subprocess.Popen([program, "train", folder / "dataset", "--run", folder / "run", "--quiet", *settings])
        while training.poll() is None and len(lines(folder / "run", "evaluation")) < 2:
            time.sleep(0.001)
        training.send_signal(signal.SIGTERM)
        training.wait()
        cursor = (folder / "run/checkpoints/latest").readlink().name
        if cursor.startswith("2.") and cursor != "2.0.0":
            return
    sys.exit(f"{folder.name}: never stopped in the third epoch")


def record(program, folder, copy):
    """What the program makes of the run: as it is, then finished."""
    shutil.copytree(folder, copy, symlinks=True)
    run, queries = copy / "run", ["--queries", copy / "queries.tsv"]
    found = {
        "cursor": (run / "checkpoints/latest").readlink().name,
        "eval": call(program, "eval", run, "--checkpoint", "latest"),
        "predict": call(program, "predict", run, "--checkpoint", "latest", *queries),
        "export": call(program, "export", run, "--checkpoint", "latest", "--format", "npy", "--output", folder / "exported"),
    }
    call(program, "resume", run)
    found |= {"epochs": lines(run, "epoch"), "evaluations": lines(run, "evaluation")}
    shutil.rmtree(copy)
    return found


def lines(run, kind):
    """What metrics.jsonl says that does not depend on the machine."""
    path = run / "metrics.jsonl"
    whole = path.read_text().rpartition("\n")[0].splitlines() if path.exists() else []
    return [
        {key: value for key, value in line.items() if key not in ("time", "machine")}
        for line in map(json.loads, whole)
        if line["kind"] == kind
    ]


def call(program, *arguments):
    """What a command prints with --json."""
    printed = subprocess.run([program, *arguments, "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(printed)


if __name__ == "__main__":
    main(*sys.argv[1:])
