"""A sparse graph whose every held-out edge follows from another: what a broken initialisation or loss cannot learn.

Random maps of the nodes onto themselves, each with a relation of its own for the way back. Of each pair of edges one is always
in training, so that an oracle ranks every held-out edge first; a node has about four training edges. Relations that begin as the
identity make each node its own best answer here, and training never leaves that.
"""

import numpy as np
import pytest

from marius_lite.config.load import load
from marius_lite.nn.decoders.draw import Draw
from marius_lite.tasks.evaluate_run import evaluate_run
from marius_lite.train.run import train_run

NODES, MAPS, PARTITIONS = 1000, 2, 4
SHORT = [
    "model.dim=64",
    "training.epochs=15",
    "training.batch_size=250",
    "training.threads=1",
    "training.early_stopping=0",
    "evaluation.every_epochs=5",
]


@pytest.fixture(scope="module")
def inverses(tmp_path_factory, cli):
    rng, edges = np.random.default_rng(0), {"train": [], "valid": [], "test": []}
    for k in range(MAPS):
        for source, target in enumerate(rng.permutation(NODES)):
            pair = [(source, f"forth{k}", target), (target, f"back{k}", source)]
            rng.shuffle(pair)
            edges["train"].append(pair[0])
            edges[rng.choice(["test", "valid", "train"], p=[0.1, 0.1, 0.8])].append(pair[1])
    folder = tmp_path_factory.mktemp("inverses")
    for split, rows in edges.items():
        (folder / split).write_text("".join(f"{s}\t{r}\t{d}\n" for s, r, d in rows))
    assert (
        cli(
            "preprocess",
            folder / "train",
            "--valid",
            folder / "valid",
            "--test",
            folder / "test",
            "--partitions",
            PARTITIONS,
            "--output",
            folder / "dataset",
        )
        == 0
    )
    return folder / "dataset"


def trained(dataset, run, preset, *sets):
    train_run(dataset, run, load(f"preset:{preset}", [*SHORT, *sets]))
    return evaluate_run(run, "test")


@pytest.mark.parametrize(
    ("preset", "sets"),
    [
        ("kg-small", ["storage.ordering=in_memory"]),
        ("kg-small", ["storage.capacity=2"]),
        ("kg", ["negatives.count=300", "storage.capacity=2"]),
    ],
)
def test_what_follows_from_training_is_found(inverses, tmp_path, preset, sets):
    result = trained(inverses, tmp_path / "run", preset, *sets)
    assert result["mrr"] > 0.9
    assert result["self_best"] < 0.05


def test_relations_that_begin_as_the_identity_are_noticed(inverses, tmp_path, monkeypatch):
    """The bounds above are not met by just anything."""
    draw = Draw.__call__

    def alike(self, generator, count, dim):
        values = draw(self, generator, count, dim)
        if count <= 4 * MAPS:  # relations, in both directions
            values[:, : dim // 2], values[:, dim // 2 :] = 1, 0
        return values

    monkeypatch.setattr(Draw, "__call__", alike)
    result = trained(inverses, tmp_path / "run", "kg-small", "storage.capacity=2")
    assert result["with_self"]["mrr"] < 0.7
    assert result["self_best"] > 0.5
