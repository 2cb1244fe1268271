"""Quality of presets and decoders on graphs: one table, a row for each graph and recipe.

    python scripts/bench/quality.py DATASET... [--recipes "default;kg-small"] [--seeds 0,1] [--set KEY=VALUE]
                                    [--vary KEY=A,B] [--vary "KEY=A OTHER=B"] [--work FOLDER] [--table FILE]

With --vary each recipe is trained as it is and with every one of these changes alone; several settings in one --vary are one
change. Each row is `marius-lite train` and `marius-lite eval` (test split, filtered, all nodes, the query's among them, as in
published figures) of the checkpoint with the best validation figure. With --table the rows are added to a file, and what it
has is not trained again: a large table takes days, and may be stopped at any time. A row is known by graph, recipe, --vary and
seed: another --set needs another file. To be run before a release, on three graphs or more: nothing in a recipe is
for one graph alone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from commands import result_of
from machine_facts import cpu_name

from marius_lite.files import remove_tree

QUARTER = ["storage.capacity=4"]  # of 16 partitions
RECIPES: dict[str, list[str]] = {
    "default": [],
    "kg-small": ["--config", "preset:kg-small"],
    "kg": ["--config", "preset:kg"],
    "kg-large": ["--config", "preset:kg-large"],
    "complex, 4 resident": ["--config", "preset:kg-small", "--set", *QUARTER],
    "distmult, 4 resident": ["--config", "preset:kg-small", "--set", "model.decoder=distmult", "--set", *QUARTER],
    "distmult": ["--config", "preset:kg-small", "--set", "model.decoder=distmult"],
    "rotate": ["--config", "preset:kg-small", "--set", "model.decoder=rotate"],
    "transe": ["--config", "preset:kg-small", "--set", "model.decoder=transe"],
    "transe_l1": ["--config", "preset:kg-small", "--set", "model.decoder=transe_l1"],
    "rotate, 4 resident": ["--config", "preset:kg-small", "--set", "model.decoder=rotate", "--set", *QUARTER],
    "transe, 4 resident": ["--config", "preset:kg-small", "--set", "model.decoder=transe", "--set", *QUARTER],
    "transe_l1, 4 resident": ["--config", "preset:kg-small", "--set", "model.decoder=transe_l1", "--set", *QUARTER],
    "social": ["--config", "preset:social"],
}
SHOWN = ("mrr", "hits@1", "hits@3", "hits@10", "self_best")
SETTINGS = (
    "model.decoder",
    "model.dim",
    "negatives.count",
    "negatives.degree_fraction",
    "model.dropout",
    "regularizer.weight",
    "loss.relation_weight",
    "optimizer.rows.name",
    "optimizer.rows.lr",
    "init.relations.scale",
    "storage.capacity",
)


def setting(config: dict[str, Any], path: str) -> Any:
    for key in path.split("."):
        config = config[key]
    return config


def measured(dataset: Path, recipe: str, seed: int, sets: list[str], run: Path) -> dict[str, Any]:
    """Figures of one run, and what it was trained with."""
    more = [part for item in [*sets, f"training.seed={seed}"] for part in ("--set", item)]
    start = time.perf_counter()
    trained = result_of("train", dataset, "--run", run, *RECIPES[recipe], *more)
    minutes = (time.perf_counter() - start) / 60
    figures = result_of("eval", run, "--checkpoint", "best", "--include-self")
    config = yaml.safe_load((run / "config.yaml").read_text())["config"]
    return {
        "epochs": trained["epochs"],
        "minutes": minutes,
        **{name: figures[name] for name in SHOWN},
        "settings": ", ".join(f"{path.split('.', 1)[1]} {setting(config, path)}" for path in SETTINGS),
        "threads": config["training"]["threads"],
        "precision": config["training"]["precision"],
    }


def alone(varied: str) -> list[list[str]]:
    """The changes that a --vary asks for, each a list of settings."""
    if " " in varied:
        return [varied.split()]
    key, values = varied.split("=", 1)
    return [[f"{key}={value}"] for value in values.split(",")]


def tell(line: str, table: Path | None) -> None:
    """A line of the table, on standard output and at the end of the file."""
    print(line, flush=True)
    if table is not None:
        with table.open("a") as file:
            print(line, file=file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--recipes", default="default", help=f"of {', '.join(RECIPES)}, separated by ;")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--set", dest="sets", action="append", default=[])
    parser.add_argument("--vary", dest="changes", action="append", default=[])
    parser.add_argument("--work", type=Path, default=None, help="folder for the runs, which are removed afterwards")
    parser.add_argument("--table", type=Path, default=None, help="file that rows are added to, unless it has them")
    a = parser.parse_args()
    changes = [[], *(change for each in a.changes for change in alone(each))]
    there = a.table.read_text().splitlines() if a.table is not None and a.table.exists() else []
    if not there:
        tell(f"| graph | recipe | seed | epochs | minutes | {' | '.join(SHOWN)} | settings |", a.table)
        tell("|---" * (6 + len(SHOWN)) + "|", a.table)
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        for dataset in a.datasets:
            for recipe, change in product(a.recipes.split(";"), changes):
                for seed in map(int, a.seeds.split(",")):
                    name = f"| {dataset.name} | {' '.join([recipe, *change])} | {seed} |"
                    if any(line.startswith(name) for line in there):
                        continue
                    run = Path(folder) / "run"
                    row = measured(dataset, recipe, seed, [*a.sets, *change], run)
                    remove_tree(run)
                    figures = " | ".join(f"{row[name]:.4f}" for name in SHOWN)
                    tell(
                        f"{name} {row['epochs']} | {row['minutes']:.1f} | {figures} | {row['settings']}; "
                        f"{row['threads']} threads, {row['precision']}, {cpu_name()} |",
                        a.table,
                    )


if __name__ == "__main__":
    main()
