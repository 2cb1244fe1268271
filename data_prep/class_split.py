"""Deal the nodes of each class into lists for training, validation and test: the split of Shchur et al. (2018).

    python data_prep/class_split.py LABELS OUTPUT [--train 20] [--valid 30] [--seed 0]

LABELS: .npy of classes, node i's in row i, or FILE.npz:KEY. Writes train.npy, valid.npy and test.npy (all others) of node numbers
into the folder OUTPUT: for each class in turn, a permutation by numpy's default generator with the seed is cut.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np


def split(labels: np.ndarray, train: int, valid: int, seed: int) -> dict[str, np.ndarray]:
    """Node numbers, ascending, by list."""
    rng = np.random.default_rng(seed)
    found = [np.flatnonzero(labels == c) for c in np.unique(labels[labels >= 0])]
    cuts = [np.split(rng.permutation(nodes), [train, train + valid]) for nodes in found]
    return {name: np.sort(np.concatenate(parts)) for name, parts in zip(("train", "valid", "test"), zip(*cuts))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels")
    parser.add_argument("output", type=Path)
    parser.add_argument("--train", type=int, default=20)
    parser.add_argument("--valid", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    file, _, key = a.labels.partition(":")
    found = np.load(file)
    lists = split(found[key] if key else found, a.train, a.valid, a.seed)
    a.output.mkdir(parents=True, exist_ok=True)
    for name, nodes in lists.items():
        np.save(a.output / f"{name}.npy", nodes)
        print(f"{name}: {len(nodes):,} nodes")


if __name__ == "__main__":
    main()
