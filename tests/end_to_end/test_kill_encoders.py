"""SIGKILL at any instant of a run through an encoder: the same bits. It has features and learned rows side by side, or features
alone, which come in packs; or its layers are trained one after another."""

import random
import shutil
import time

import community_graph
import pytest
import yaml
from test_kill_any_time import kill
from whole_runs import Program, differences

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

CONFIG = {
    "model": {"encoder": "sage", "layers": [8], "dim": 4, "inputs": "both", "dropout": 0.2},
    "sampling": {"fanouts": [4, 4]},
    "optimizer": {"dense": {"name": "adam", "lr": 0.01}},
    "storage": {"capacity": 2, "io_threads": 2},
    "checkpoint": {"every_minutes": 0.001},
}
CLASSES = {
    "task": "node_classification",
    "training": {"epochs": 6, "batch_size": 10, "threads": 1},
    "evaluation": {"every_epochs": 2},
}
RUNS = {
    "a class a node": (community_graph.write, CLASSES),
    "several classes a node": (community_graph.write_several, CLASSES),
    "features that come in packs": (community_graph.write, {**CLASSES, "model": {**CONFIG["model"], "inputs": "features"}}),
    "layers one after another": (
        community_graph.write,
        {
            **CLASSES,
            "model": {**CONFIG["model"], "inputs": "features"},
            "training": {**CLASSES["training"], "method": "layerwise"},
        },
    ),
    "links": (
        community_graph.write,
        {
            "task": "link_prediction",
            "training": {"epochs": 2, "batch_size": 500, "threads": 1},
            "negatives": {"count": 20, "chunks": 1},
            "evaluation": {"split": "train", "max_edges": 60},
        },
    ),
}
FURTHER = ("several classes a node",)
KILLS = 3


@pytest.fixture(scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] if name in FURTHER else []) for name in RUNS])
def encoding(program, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("encoding")
    write, config = RUNS[request.param]
    (folder / "config.yaml").write_text(yaml.safe_dump({**CONFIG, **config}))
    made = Program(program.address, folder / "dataset", folder / "config.yaml")
    code, told = made.start("preprocess", *write(folder), "--output", made.dataset, "--partitions", "6").wait()
    assert code == 0, told
    return made


def test_killed_at_any_instant_it_ends_as_if_nothing_had_happened(encoding, tmp_path):
    started = time.monotonic()
    expected = encoding.finish(tmp_path / "whole")
    whole = time.monotonic() - started
    assert expected["evaluations"]
    for number in range(KILLS):
        chance, run = random.Random(number), tmp_path / str(number)
        seconds = whole
        while not kill(encoding, run, seconds, chance):
            shutil.rmtree(run)
            seconds /= 2
        kill(encoding, run, seconds, chance)
        assert differences(encoding.finish(run), expected) == []
        assert not [*run.glob(".vectors*"), *run.glob(".packs*")]
