"""An evaluation's result is written beside the run, and is the same by whatever name its checkpoint goes."""

import json
import logging
import shutil

import pytest

from marius_lite.errors import UserError
from marius_lite.tasks.evaluate_run import evaluate_run


@pytest.fixture(params=["link_run", "encoded_run", "class_run"])
def run(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("split", ["test", "valid"])
def test_what_is_told_is_written(run, split):
    told = evaluate_run(run, split)
    assert told["split"] == split
    assert json.loads((run / "eval" / f"{told['checkpoint']}.{split}.all.json").read_text()) == told


def test_names_of_a_checkpoint_mean_the_same(run):
    named = evaluate_run(run, checkpoint="latest")
    assert named["checkpoint"] == "2.0.0"
    assert evaluate_run(run, checkpoint="2.0.0") == named
    with pytest.raises(UserError, match=r"9\.0\.0"):
        evaluate_run(run, checkpoint="9.0.0")


def test_it_is_said_that_a_later_checkpoint_than_the_best_is_there(link_run, tmp_path, caplog):
    run = tmp_path / "run"
    shutil.copytree(link_run, run, symlinks=True)
    best = run / "checkpoints" / "best"
    said = "checkpoint 1.0.0, the best by validation; the run has come to 2.0.0: --checkpoint latest"
    for name, told in (("1.0.0", True), ("2.0.0", False)):
        best.unlink()
        best.symlink_to(name)
        with caplog.at_level(logging.INFO, "marius_lite"):
            assert evaluate_run(run)["checkpoint"] == name
        assert (said in caplog.text) == told
        caplog.clear()


def test_the_figures_while_training_are_those_of_the_checkpoint(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["kind"] == "evaluation"][-1]
    again = evaluate_run(run, last["split"], checkpoint=f"{last['epoch'] + 1}.0.0")
    for figure in ("mrr", "hits@10", "accuracy", "log_loss"):
        if figure in last:
            assert again[figure] == pytest.approx(last[figure], rel=1e-6)


def test_the_query_node_counts_as_asked(link_run):
    without, with_it = (evaluate_run(link_run, exclude_self=excluded) for excluded in (True, False))
    assert without["with_self"]["mrr"] == with_it["mrr"]
    assert with_it["without_self"]["mrr"] == without["mrr"]


def test_a_split_without_edges_has_no_figures_and_it_is_said(cli, tmp_path, caplog):
    (tmp_path / "edges.tsv").write_text("a\tb\nb\tc\n")
    assert cli("preprocess", tmp_path / "edges.tsv", "--output", tmp_path / "data", "--split", "0.9,0.05,0.05") == 0
    assert cli("train", tmp_path / "data", "--run", tmp_path / "run", "--set", "model.dim=4", "--set", "training.epochs=1") == 0
    assert evaluate_run(tmp_path / "run")["mrr"] is None
    assert "the dataset has nothing in its split test" in caplog.text
