"""The commands after training: each prints what its contract says."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest


@pytest.fixture(scope="module")
def run(tiny_dataset, tmp_path_factory, cli):
    folder = tmp_path_factory.mktemp("commands") / "run"
    assert cli("train", tiny_dataset, "--run", folder, "--set", "storage.capacity=2", "--set", "model.dim=16",
               "--set", "training.epochs=12", "--set", "training.batch_size=100", "--set", "negatives.count=50",
               "--set", "negatives.chunks=1", "--set", "evaluation.every_epochs=6") == 0
    return folder


@pytest.fixture
def printed(cli, capfd):
    def call(*arguments):
        capfd.readouterr()
        assert cli(*arguments, "--json") == 0
        return json.loads(capfd.readouterr().out)
    return call


def test_eval_prints_the_contract_and_beats_chance(printed, run):
    result = printed("eval", run, "--split", "test")
    assert {"split", "mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "candidates", "filtered", "ties", "count",
            "per_side", "per_relation"} <= set(result)
    assert result["count"] == pytest.approx(240, abs=60)
    assert result["mrr"] > 0.1  # 300 candidates at random: 0.02
    assert set(result["per_relation"]) == {"rel0", "rel1", "rel2"}
    assert json.loads(max((run / "eval").glob("*.test.all.json")).read_text()) == result


def test_predict_gives_likely_answers_in_raw_ids(printed, run, tmp_path):
    (tmp_path / "q").write_text("node7\trel1\t?\n?\trel0\tnode50\n")
    first, second = printed("predict", run, "--queries", tmp_path / "q", "--topk", "5", "--known")["queries"]
    assert [first["src"], first["rel"], first["dst"]] == ["node7", "rel1", None]
    near = {f"node{(7 + 10 + k) % 300}" for k in range(-5, 10)}
    assert len({a["id"] for a in first["answers"]} & near) >= 2  # 15 of 300 nodes are near: 0.25 by chance
    scores = [a["score"] for a in second["answers"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 5


def test_exports_agree_with_each_other(printed, run, tmp_path):
    summary = printed("export", run, "--output", tmp_path / "parquet")
    assert (summary["nodes"], summary["dim"]) == (300, 16)
    printed("export", run, "--output", tmp_path / "npy", "--format", "npy")
    table = pq.read_table(tmp_path / "parquet" / "nodes.parquet")
    ids = (tmp_path / "npy" / "nodes_ids.txt").read_text().split()
    assert table["raw_id"].to_pylist() == ids
    assert len(set(ids)) == 300
    vectors = np.stack(table["vector"].to_numpy())
    assert (vectors == np.load(tmp_path / "npy" / "nodes.npy")).all()
    assert np.abs(vectors).max() > 0.01


def test_info_tells_dataset_run_and_machine(printed, run, tiny_dataset):
    assert printed("info", tiny_dataset, "--verify")["verified"] is True
    told = printed("info", run)
    assert (told["kind"], told["latest"]) == ("run", "12.0.0")
    assert told["checkpoints"] == ["11.0.0", "12.0.0"] or "12.0.0" in told["checkpoints"]
    machine = printed("info")
    assert machine["threads"] >= 1
    assert isinstance(machine["direct_io"], bool)


def test_plan_counts_what_it_prints(printed, tiny_dataset):
    result = printed("plan", tiny_dataset, "--set", "storage.capacity=2")
    assert result["memory"]["total"] == sum(result["memory"][k] for k in ("buffer", "edges", "workspace", "evaluation"))
    assert result["capacity"] == 2
    assert result["first_epoch"]["rows_read"] > 0
