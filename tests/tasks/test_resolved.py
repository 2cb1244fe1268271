"""In a resolved configuration everything that shapes the work is a value; what was asked stays, and it is its own resolution."""

import pytest
from open_parts import CLASSES, ENCODER, LINKS

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.tasks.resolved import resolved

SHAPES = {
    "model": ["inputs"],
    "loss": ["name"],
    "sampling": ["fanouts"],
    "training": ["precision", "threads", "metric"],
    "storage": ["memory", "capacity", "ordering", "window_edges"],
    "evaluation": ["every_epochs", "split", "max_edges"],
}


@pytest.mark.parametrize(("name", "sets"), [("tiny_dataset", LINKS), ("featured", [*LINKS, *ENCODER]), ("communities", CLASSES)])
def test_nothing_is_left_open(request, name, sets):
    if "model.encoder=sage" in sets:
        pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    dataset, asked = Dataset.open(request.getfixturevalue(name)), load(sets=[*sets, "storage.memory=1GB"])
    config, memory = resolved(dataset, asked)
    shapes = [config.device, *(getattr(getattr(config, section), name) for section, names in SHAPES.items() for name in names)]
    assert "auto" not in shapes
    assert (config.task, config.training.batch_size) == (asked.task, asked.training.batch_size)
    assert memory.total <= 10**9
    assert resolved(dataset, config) == (config, memory)


@pytest.mark.parametrize(
    ("sets", "found"),
    [
        (["model.decoder=distmult"], "vectors"),
        (["model.decoder=transe"], "torch"),
        (["model.decoder=rotate", "loss.name=logistic"], "torch"),
        (["model.decoder=distmult", "loss={name: logistic, adversarial_temperature: 1}"], "torch"),
        (["model.decoder=distmult", "loss.name=logistic"], "vectors"),
    ],
)
def test_a_run_says_torch_where_torch_computes(tiny_dataset, sets, found):
    asked = load(sets=[*LINKS, "training.scoring=vectors", *sets])
    assert resolved(Dataset.open(tiny_dataset), asked)[0].training.scoring == found
