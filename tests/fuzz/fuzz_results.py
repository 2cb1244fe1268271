"""Datasets, checkpoints and run folders in which something was damaged: what is read all the same must be as it was."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
from fuzz_damage import damaged
from fuzz_judge import Command

TRAINING = [
    "--set",
    "training.epochs=1",
    "--set",
    "training.threads=1",
    "--set",
    "training.batch_size=64",
    "--set",
    "negatives.count=8",
    "--set",
    "negatives.chunks=2",
    "--set",
    "model.dim=8",
    "--set",
    "storage.io_threads=1",
]
ENCODER = ["task=node_classification", "model.encoder=sage", "sampling.fanouts=[3]"]
ENCODED = ["--config", "preset:plain", *TRAINING, *(f"--set={item}" for item in ENCODER)]
SETTINGS = {"links": TRAINING, "labelled": ENCODED, "several": ENCODED}  # a node has a class, or several
NAMES = ("links", "links", "labelled", "several")


def make_bases(folder: Path) -> list[list[str]]:
    """The files of the commands that make the datasets and runs to damage."""
    rng = np.random.default_rng(0)
    src, rel = rng.integers(60, size=400), rng.integers(3, size=400)
    (folder / "e.tsv").write_text("".join(f"node{s}\trel{r}\tnode{(s + 7 * r) % 60}\n" for s, r in zip(src, rel)))
    np.save(folder / "e.npy", np.stack([src, (src * 3 + rel) % 60], 1))
    np.save(folder / "x.npy", rng.standard_normal((60, 4)).astype(np.float32))
    np.save(folder / "y.npy", np.arange(60) % 3)
    np.save(folder / "several.npy", rng.random((60, 10)) < 0.4)
    (folder / "t.tsv").write_text("".join(f"{i}\tkind{i % 2}\n" for i in range(60)))
    (folder / "queries.tsv").write_text("node1\trel0\t?\n?\trel1\tnode5\n")
    return [
        ["preprocess", "e.tsv", "--output", "links", "--partitions", "3", "--split", "0.8,0.1,0.1"],
        [
            "preprocess",
            "e.npy",
            "--output",
            "labelled",
            "--partitions",
            "3",
            "--features",
            "x.npy",
            "--labels",
            "y.npy",
            "--node-types",
            "t.tsv",
            "--node-split",
            "0.6,0.2,0.2",
            "--adjacency",
            "in",
        ],
        [
            "preprocess",
            "e.npy",
            "--output",
            "several",
            "--partitions",
            "3",
            "--features",
            "x.npy",
            "--labels",
            "several.npy",
            "--node-split",
            "0.6,0.2,0.2",
        ],
        *(["train", name, "--run", f"{name}.run", *settings] for name, settings in SETTINGS.items()),
    ]


def commands(area: str, name: str) -> list[Command]:
    """What is done to a damaged dataset, or run, called ``name``."""
    if area == "datasets":
        return [
            Command(["info", name, "--json"], compared=True),
            Command(["info", name, "--verify", "--json"], compared=True),
            Command(["train", name, "--run", "r", *SETTINGS[name], "--json"], compared=True),
            Command(["export", "r", "--output", "x", "--format", "npy", "--json"], ["x/*"], compared=True, makes="x"),
            *([Command(["eval", "r", "--json"], compared=True)] if name == "links" else []),
        ]
    run = f"{name}.run"
    return [
        Command(["info", run, "--json"], compared=True),
        Command(["info", run, "--verify", "--json"], compared=True),
        Command(["eval", run, "--json"], compared=True),
        *([Command(["predict", run, "--queries", "queries.tsv"], compared=True)] if name == "links" else []),
        Command(["export", run, "--output", "x", "--format", "npy", "--json"], ["x/*"], compared=True, makes="x"),
        Command(["resume", run, "--set", "training.epochs=2", "--json"], compared=True),
        Command(["export", run, "--output", "y", "--format", "npy", "--json"], ["y/*"], compared=True, makes="y"),
    ]


def copy(base: Path, folder: Path) -> None:
    """All of ``base`` but what a case must not see."""
    shutil.copytree(base, folder, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".out", ".err"))


def datasets(rng: Random, folder: Path, base: Path) -> list[Command]:
    name = rng.choice(NAMES)
    _damage(rng, folder, base, name)
    return commands("datasets", name)


def runs(rng: Random, folder: Path, base: Path) -> list[Command]:
    name = rng.choice(NAMES)
    _damage(rng, folder, base, f"{name}.run")
    return commands("runs", name)


def _damage(rng: Random, folder: Path, base: Path, name: str) -> None:
    copy(base, folder)
    there = (folder / name).rglob("*")
    files = sorted(path for path in there if path.is_file() and not path.is_symlink() and path.name != "lock")
    by_kind: dict[str, list[Path]] = {}
    for path in files:  # many chunks are alike: each kind of file comes up as often
        by_kind.setdefault(str([part for part in path.relative_to(folder).parts if not part.isdigit()]), []).append(path)
    victim = rng.choice(by_kind[rng.choice(sorted(by_kind))])
    if rng.random() < 0.1:
        victim.unlink()
    elif rng.random() < 0.05:
        victim.unlink()
        victim.mkdir()
    else:
        data = damaged(rng, victim.read_bytes(), victim.suffix in (".json", ".yaml", ".jsonl", ".txt"))
        victim.unlink()  # other names of the same file (hard links) stay whole
        victim.write_bytes(data)


AREAS: dict[str, Callable[[Random, Path, Path], list[Command]]] = {"datasets": datasets, "runs": runs}
