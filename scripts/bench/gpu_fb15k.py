"""FB15k-237 on the GPU: filtered MRR of the test split, and minutes.

    python scripts/bench/gpu_fb15k.py --data FOLDER [--config docs/examples/fb15k-237-complex.yaml] [--set KEY=VALUE] [--json]

FOLDER holds train.txt, valid.txt and test.txt, tab-separated. The minutes are those of `train` from start to end, its evaluations
and checkpoints included; the test split is ranked afterwards, all entities, with the best checkpoint of the validation split.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import on_device
import training
from commands import options
from on_device import Report

from marius_lite.tasks.evaluate_run import evaluate_run

MRR_GOAL, MINUTES_GOAL = 0.345, 5.0
PARTITIONS = 16


def measure(a: argparse.Namespace, work: Path, report: Report) -> None:
    files = {split: a.data / f"{split}.txt" for split in ("train", "valid", "test")}
    parts = options(valid=files["valid"], test=files["test"], partitions=PARTITIONS)
    training.marius("preprocess", files["train"], *parts, "--output", work / "dataset")
    given = dict(item.split("=", 1) for item in a.set)
    start = time.perf_counter()
    lines = training.train(work / "dataset", work / "run", {"device": a.device, **given}, a.config)
    minutes = (time.perf_counter() - start) / 60
    best = "best" if (work / "run" / "checkpoints" / "best").exists() else None
    start = time.perf_counter()
    result = evaluate_run(work / "run", "test", best)
    ranked = time.perf_counter() - start
    told = ", ".join(f"{name} {result[name]:.4f}" for name in ("hits@1", "hits@3", "hits@10"))
    report.add("filtered test MRR", result["mrr"], at_least=MRR_GOAL, detail=told)
    report.add("test split ranked", ranked, "s", detail=f"{result['count']:,} questions among all nodes")
    report.add(
        "training",
        minutes,
        "minutes",
        at_most=MINUTES_GOAL,
        detail=f"{sum(line['kind'] == 'epoch' for line in lines)} epochs, checkpoint {result['checkpoint']}",
    )


def main(arguments: list[str] | None = None) -> None:
    parser = on_device.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--config", type=Path, default=training.ROOT / "docs/examples/fb15k-237-complex.yaml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--device", default="cuda")
    a = parser.parse_args(arguments)
    accelerator = on_device.accelerator()
    report = Report("gpu_fb15k", {**on_device.settings(accelerator, a), "set": json.dumps(a.set)}, a.json)
    with tempfile.TemporaryDirectory() as folder:
        measure(a, Path(folder), report)


if __name__ == "__main__":
    main()
