"""What a run leaves unused, and what hardly does what is wanted, is said by `plan` and at the start of `train`."""

import json

import numpy as np
import pytest

from marius_lite.config.load import load
from marius_lite.config.planning import planning_of

SETTINGS = ["model.dim=8", "training.epochs=1", "training.batch_size=500", "negatives.count=20", "negatives.chunks=1"]
NO_EDGES = "the dataset has no validation edges"


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ([], ["nodes have features, which", "nodes have labels, which link prediction does not use", NO_EDGES]),
        (["model.encoder=sage"], ["nodes have labels, which", NO_EDGES]),
        (["task=node_classification", "model.encoder=sage"], []),
        (
            ["task=node_classification", "model.encoder=sage", "model.inputs=embeddings"],
            ["nodes have features, which this run does not use (`model.inputs` is embeddings: features or both reads them)"],
        ),
    ],
)
def test_what_nodes_have(cli, tmp_path, capfd, sets, said):
    np.save(tmp_path / "edges.npy", np.random.default_rng(1).integers(0, 40, (300, 2)))
    np.save(tmp_path / "features.npy", np.ones((40, 3), np.float32))
    np.save(tmp_path / "labels.npy", np.arange(40) % 2)
    assert (
        cli(
            "preprocess",
            tmp_path / "edges.npy",
            "--features",
            tmp_path / "features.npy",
            "--labels",
            tmp_path / "labels.npy",
            "--node-split",
            "0.5,0.25,0.25",
            "--adjacency",
            "in",
            "--output",
            tmp_path / "data",
        )
        == 0
    )
    capfd.readouterr()
    assert cli("plan", tmp_path / "data", "--config", "preset:plain", *[f"--set={item}" for item in sets], "--json") == 0
    remarks = json.loads(capfd.readouterr().out)["remarks"]
    assert [remark.startswith(start) for remark, start in zip(remarks, said, strict=True)] == [True] * len(said)


@pytest.mark.parametrize("lists", [(), ("--adjacency", "in")])
def test_what_an_encoder_would_need_besides(cli, tmp_path, capfd, lists):
    np.save(tmp_path / "edges.npy", np.random.default_rng(1).integers(0, 40, (300, 2)))
    np.save(tmp_path / "x.npy", np.ones((40, 3), np.float32))
    told = ["--features", tmp_path / "x.npy", *lists, "--output", tmp_path / "data"]
    assert cli("preprocess", tmp_path / "edges.npy", *told) == 0
    capfd.readouterr()
    assert cli("plan", tmp_path / "data", "--config", "preset:plain", "--json") == 0
    (line,) = (each for each in json.loads(capfd.readouterr().out)["remarks"] if "features" in each)
    assert ("`preprocess` needs --adjacency in" in line) == (not lists)


@pytest.mark.parametrize(
    ("columns", "sets", "said"),
    [
        ("src,rel,dst,weight", [], ["edges have weights, which this run does not use", NO_EDGES]),
        ("src,rel,dst,weight,time", [], ["edges have weights", "edges have times", NO_EDGES]),
        (
            "src,rel,dst,_",
            ["model.decoder=dot"],
            [NO_EDGES, "`model.decoder` is dot, which scores all 3 relations of the dataset"],
        ),
        ("src,rel,dst,_", [], [NO_EDGES]),
        (
            "src,rel,dst,_",
            ["negatives.degree_fraction=0.02"],
            [NO_EDGES, "`negatives.degree_fraction` is 0.02, which is none of"],
        ),
        ("src,rel,dst,_", ["negatives.degree_fraction=0.05"], [NO_EDGES]),
    ],
)
def test_remarks(cli, tmp_path, capfd, columns, sets, said):
    extra = "\t0.5\t7" if "time" in columns else "\t0.5"
    (tmp_path / "edges.tsv").write_text("".join(f"n{i}\tr{i % 3}\tn{i * 7 % 50}{extra}\n" for i in range(100)))
    assert cli("preprocess", tmp_path / "edges.tsv", "--columns", columns, "--output", tmp_path / "data") == 0
    given = ["--config", "preset:plain", *[f"--set={item}" for item in (*SETTINGS, *sets)]]
    capfd.readouterr()
    assert cli("plan", tmp_path / "data", *given, "--json") == 0
    remarks = json.loads(capfd.readouterr().out)["remarks"]
    assert len(remarks) == len(said)
    assert all(remark.startswith(start) for remark, start in zip(remarks, said))
    assert cli("train", tmp_path / "data", "--run", tmp_path / "run", *given) == 0
    told = capfd.readouterr().err
    assert all(remark in told for remark in remarks)
    assert ("warning" in told) == any(remark.startswith("`") for remark in remarks)  # it names the setting that is a mistake


@pytest.mark.parametrize(
    ("split", "sets", "level", "said"),
    [
        ((), [], "INFO", ["no figure chooses a checkpoint", "(`training.epochs` is 3)", "--split 0.9,0.05,0.05"]),
        (("--split", "0.8,0,0.2"), [], "INFO", ["no figure chooses a checkpoint"]),
        (
            ("--split", "0.99999,0.00001,0"),
            ["training.early_stopping=2"],
            "WARNING",
            ["(`training.epochs` is 3)"],
        ),  # none fell into it
        ((), ["training.early_stopping=2"], "WARNING", ["nothing stops training early"]),
        ((), ["training.early_stopping=3"], "INFO", ["nothing stops training early"]),
        ((), ["optimizer.schedule.name=plateau"], "WARNING", ["nothing lowers learning rates"]),
        (("--split", "0.8,0.2,0"), ["training.early_stopping=2"], None, []),
        (("--split", "0.8,0,0.2"), ["training.early_stopping=2", "evaluation.split=test"], None, []),
    ],
)
def test_training_without_validation_edges_is_said_once(cli, tmp_path, caplog, split, sets, level, said):
    (tmp_path / "edges.tsv").write_text("".join(f"n{i}\tn{i * 7 % 50}\n" for i in range(100)))
    assert cli("preprocess", tmp_path / "edges.tsv", *split, "--output", tmp_path / "data") == 0
    given = [f"--set={item}" for item in (*SETTINGS, "training.epochs=3", *sets)]
    caplog.clear()
    assert cli("train", tmp_path / "data", "--run", tmp_path / "run", "--config", "preset:plain", *given) == 0
    told = [record for record in caplog.records if record.getMessage().startswith(NO_EDGES)]
    assert [record.levelname for record in told] == ([level] if level else [])
    assert all(part in told[0].getMessage() for part in said)


def test_training_without_validation_nodes_is_said(cli, tmp_path, capfd):
    np.save(tmp_path / "edges.npy", np.random.default_rng(1).integers(0, 40, (300, 2)))
    np.save(tmp_path / "labels.npy", np.arange(40) % 2)
    (tmp_path / "train.txt").write_text("".join(f"{node}\n" for node in range(20)))
    inputs = [tmp_path / "edges.npy", "--labels", tmp_path / "labels.npy", "--train-nodes", tmp_path / "train.txt"]
    assert cli("preprocess", *inputs, "--output", tmp_path / "data") == 0
    capfd.readouterr()
    sets = ["--set=task=node_classification", "--set=model.encoder=sage", "--set=model.dim=8"]
    assert cli("plan", tmp_path / "data", *sets, "--json") == 0
    (remark,) = json.loads(capfd.readouterr().out)["remarks"]
    assert remark.startswith("the dataset has no validation nodes")
    assert "--node-split" in remark


@pytest.mark.parametrize(("early", "every", "said"), [(5, 1, 1), (6, 1, 0), (0, 1, 0), (5, 0, 0)])
def test_learning_rates_that_never_drop(early, every, said):
    """The regularizer is changed first, for five plateaus, and training stops meanwhile."""
    decay = ["regularizer={name: n3, weight: 0.1, decay: 0.5}", "optimizer.schedule={name: plateau, patience: 1}"]
    config = load(sets=[*decay, f"training.early_stopping={early}", f"evaluation.every_epochs={every}"])
    lines = planning_of(config).doubtful(config, 3)
    assert [f"`training.early_stopping` is {early}, so training stops before" in line for line in lines] == [True] * said
