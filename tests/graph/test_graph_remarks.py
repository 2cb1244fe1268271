"""What a run leaves unused, and what hardly does what is wanted, is said by `plan` and at the start of `train`."""

import json

import numpy as np
import pytest

SETTINGS = ["model.dim=8", "training.epochs=1", "training.batch_size=500", "negatives.count=20", "negatives.chunks=1"]


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ([], ["nodes have features, which", "nodes have labels, which link prediction does not use"]),
        (["model.encoder=sage"], ["nodes have labels, which"]),
        (["task=node_classification", "model.encoder=sage"], []),
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


@pytest.mark.parametrize(
    ("columns", "sets", "said"),
    [
        ("src,rel,dst,weight", [], ["edges have weights, which this run does not use"]),
        ("src,rel,dst,weight,time", [], ["edges have weights", "edges have times"]),
        ("src,rel,dst,_", ["model.decoder=dot"], ["`model.decoder` is dot, which scores all 3 relations of the dataset alike"]),
        ("src,rel,dst,_", [], []),
    ],
)
def test_remarks(cli, tmp_path, capfd, columns, sets, said):
    extra = "\t0.5\t7" if "time" in columns else "\t0.5"
    (tmp_path / "edges.tsv").write_text("".join(f"n{i}\tr{i % 3}\tn{i * 7 % 50}{extra}\n" for i in range(100)))
    assert cli("preprocess", tmp_path / "edges.tsv", "--columns", columns, "--output", tmp_path / "data") == 0
    given = [f"--set={item}" for item in (*SETTINGS, *sets)]
    capfd.readouterr()
    assert cli("plan", tmp_path / "data", *given, "--json") == 0
    remarks = json.loads(capfd.readouterr().out)["remarks"]
    assert len(remarks) == len(said)
    assert all(remark.startswith(start) for remark, start in zip(remarks, said))
    assert cli("train", tmp_path / "data", "--run", tmp_path / "run", *given) == 0
    told = capfd.readouterr().err
    assert all(remark in told for remark in remarks)
    assert ("warning" in told) == ("model.decoder=dot" in sets)
