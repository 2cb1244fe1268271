"""Each example configuration is loaded, and trains a few steps."""

from pathlib import Path

import pytest

from marius_lite.config.load import load

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("example", sorted((DOCS / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_trains(example, tiny_dataset, surrounded, communities, tmp_path, cli):
    few = ["training.epochs=2", "training.batch_size=500", "storage.capacity=2"]
    config, dataset = load(example), tiny_dataset
    if config.model.encoder != "none":
        pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
        dataset = surrounded
    if config.task == "node_classification":
        dataset = communities
    else:
        few += ["negatives.count=50", "negatives.chunks=1"]
    assert cli("train", dataset, "--run", tmp_path / "run", "--config", example, *(f"--set={pair}" for pair in few)) == 0
    assert cli("plan", dataset, "--config", example, "--set", "storage.capacity=2") == 0


def test_the_list_of_settings_is_current():
    from marius_lite.config.describe import as_markdown

    assert (DOCS / "configuration.md").read_text() == as_markdown(), (
        "write it anew: python -m marius_lite.config.describe docs/configuration.md"
    )
