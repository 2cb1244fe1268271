"""SIGKILL at any instant of a run that classifies nodes, on features and learned rows side by side: the same bits."""

import random
import shutil

import community_graph
import pytest
import yaml
from test_kill_any_time import kill
from whole_runs import Program, differences

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

CONFIG = {
    "task": "node_classification",
    "model": {"encoder": "sage", "layers": [8], "dim": 4, "inputs": "both", "dropout": 0.2},
    "sampling": {"fanouts": [4, 4]},
    "optimizer": {"dense": {"name": "adam", "lr": 0.01}},
    "training": {"epochs": 6, "batch_size": 10, "threads": 1},
    "storage": {"capacity": 2, "io_threads": 2},
    "checkpoint": {"every_minutes": 0.001},
    "evaluation": {"every_epochs": 2},
}
KILLS = 10


@pytest.fixture(scope="module")
def classifier(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    made = Program(program.address, folder / "dataset", folder / "config.yaml")
    code, told = made.start("preprocess", *community_graph.write(folder), "--output", made.dataset, "--partitions", "6").wait()
    assert code == 0, told
    return made


def test_killed_at_any_instant_it_ends_as_if_nothing_had_happened(classifier, tmp_path):
    expected = classifier.finish(tmp_path / "whole")
    assert expected["evaluations"]
    for number in range(KILLS):
        chance, run = random.Random(number), tmp_path / str(number)
        seconds = 4.0
        while not kill(classifier, run, seconds, chance):
            shutil.rmtree(run)
            seconds /= 2
        kill(classifier, run, seconds, chance)
        assert differences(classifier.finish(run), expected) == []
        assert not list(run.glob(".vectors*"))
