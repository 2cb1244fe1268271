"""What `train --from RUN` costs and gives on an updated dataset, beside a run from the beginning.

    python scripts/bench/warm_start.py FOLDER --work DIR [--epochs 20] [--fewer 8] [--share 0.05] [--set KEY=VALUE]

FOLDER has a knowledge graph: train.txt, valid.txt and test.txt, tab-separated. A share of its entities is left out, with all
their edges, and a run is trained on the rest. `update` adds these edges. Then one run is trained from the beginning, and one
`--from` the first run, for an eighth of the epochs (`--fewer`). Prints the filtered test MRR of both on the updated dataset, and
the processor seconds of the whole commands. One thread, DistMult with 50 numbers an entity, unless `--set` says otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from update import processor_seconds

SETTINGS = [
    "model.decoder=distmult",
    "model.dim=50",
    "negatives.count=200",
    "training.batch_size=1000",
    "training.threads=1",
    "evaluation.every_epochs=0",
]
SPLITS = ("train", "valid", "test")


def divided(folder: Path, work: Path, share: float) -> int:
    """Write old and new edges of each split to ``work``. Returns how many entities the old ones do without."""
    lines = {name: (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines() for name in SPLITS}
    entities = sorted({end for each in lines.values() for line in each for end in line.split("\t")[::2]})
    rng = np.random.default_rng(0)
    new = {entities[k] for k in rng.choice(len(entities), int(share * len(entities)), replace=False)}
    for name, each in lines.items():
        later = [not new.isdisjoint(line.split("\t")[::2]) for line in each]
        for age, kept in (("old", False), ("new", True)):
            text = "".join(f"{line}\n" for line, is_new in zip(each, later) if is_new is kept)
            (work / f"{age}-{name}.txt").write_text(text, encoding="utf-8")
    return len(new)


def test_mrr(run: Path) -> float:
    """Return the filtered test MRR of the best checkpoint of a run."""
    command = [sys.executable, "-m", "marius_lite", "eval", str(run), "--split", "test", "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return float(found["mrr"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--fewer", type=int, default=8)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--set", action="append", default=[], dest="sets")
    a = parser.parse_args()
    a.work.mkdir(parents=True)
    entities, at = divided(a.folder, a.work, a.share), a.work
    sets = [part for each in [*SETTINGS, *a.sets] for part in ("--set", each)]
    print(f"{a.folder}: without {entities:,} entities, then with them; load {os.getloadavg()[0]:.1f}", flush=True)

    def files(age: str) -> list[object]:
        return [at / f"{age}-train.txt", "--valid", at / f"{age}-valid.txt", "--test", at / f"{age}-test.txt"]

    def trained(dataset: object, run: str, epochs: int, *more: object) -> float:
        begun = more or ("--config", "preset:plain")
        return processor_seconds("train", dataset, "--run", at / run, *begun, *sets, "--set", f"training.epochs={epochs}")

    processor_seconds("preprocess", *files("old"), "--output", at / "dataset")
    trained(at / "dataset", "old", a.epochs)
    processor_seconds("update", at / "dataset", *files("new"))
    anew, few = trained(at / "dataset", "anew", a.epochs), -(-a.epochs // a.fewer)
    on = trained(at / "dataset", "on", few, "--from", at / "old")
    for name, epochs, seconds in (("anew", a.epochs, anew), ("on", few, on)):
        called = "from the beginning" if name == "anew" else "with --from"
        print(f"  {called:20}{epochs:4} epochs   MRR {test_mrr(at / name):.4f}   {seconds:6.1f} s of a processor", flush=True)
    print(f"  {on / anew:.2f} of the time")


if __name__ == "__main__":
    main()
