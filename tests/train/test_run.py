"""What starts and what continues a run: refusals before anything is written, and what a finished run has to say."""

import shutil

import pytest
from open_parts import LINKS

from marius_lite.checkpoint.run_folder import RunFolder, read_record
from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.estimate import plan_run
from marius_lite.nn import ways
from marius_lite.train.run import resume_run, train_run
from marius_lite.train.work import Work


@pytest.fixture
def run(link_run, tmp_path):
    """A copy of a finished run; the dataset is where it was."""
    return shutil.copytree(link_run, tmp_path / "run", symlinks=True)


def files_of(run):
    return {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "lock"}


def test_a_finished_run_is_left_as_it_is(run):
    before = files_of(run)
    assert "training.epochs=N" in resume_run(run)["finished"]
    assert files_of(run) == before


def rows_of(run):
    return {path.relative_to(run): path.read_bytes() for path in run.glob("checkpoints/*/nodes/c/*/0")}


def test_more_epochs_go_on_from_the_last(run, tiny_dataset, tmp_path):
    resume_run(run, sets=["training.epochs=3"])
    whole = train_run(tiny_dataset, tmp_path / "whole", load(sets=[*LINKS, "training.epochs=3"]))
    assert whole["checkpoint"] == "3.0.0"
    last = rows_of(tmp_path / "whole")
    assert {path: rows for path, rows in rows_of(run).items() if path in last} == last


def test_a_run_that_goes_back_comes_to_the_same_place(run):
    before = rows_of(run)
    assert resume_run(run, checkpoint="1.0.0")["checkpoint"] == "2.0.0"
    assert rows_of(run) == before
    assert "finished" in resume_run(run)


@pytest.mark.parametrize(
    "changed",
    [
        "model.dim=16",
        "training.seed=1",
        "training.batch_size=100",
        "storage.capacity=3",
        "negatives.count=10",
        "task=node_classification",
    ],
)
def test_what_rows_depend_on_stays(run, changed):
    before = files_of(run)
    with pytest.raises(UserError, match=f"cannot change `{changed.partition('=')[0]}`"):
        resume_run(run, sets=[changed])
    assert files_of(run) == before


def test_a_setting_that_stays_may_be_given_again(run):
    dim = read_record(RunFolder.to_read(run))["config"]["model"]["dim"]
    assert "finished" in resume_run(run, sets=[f"model.dim={dim}"])


def test_a_run_is_not_written_over(run, tiny_dataset):
    before = files_of(run)
    with pytest.raises(UserError, match="exists"):
        train_run(tiny_dataset, run, load(sets=LINKS))
    assert files_of(run) == before


def test_lost_lines_are_told_and_cost_nothing_else(run, caplog):
    (run / "metrics.jsonl").unlink()
    assert resume_run(run, sets=["training.epochs=3"])["epochs"] == 3
    assert "lines of what was trained before it are missing" in caplog.text


@pytest.fixture
def evaluated(tiny_dataset, tmp_path):
    """A run of two epochs, each evaluated, and its summary."""
    told = train_run(tiny_dataset, tmp_path / "evaluated", load(sets=[*LINKS, "evaluation.every_epochs=1"]))
    return tmp_path / "evaluated", told


def test_figures_of_another_kind_are_not_compared(evaluated):
    """Among ten candidates any model looks better: the best of before must not be measured by that, nor that by it."""
    run, before = evaluated
    few = resume_run(run, sets=["training.epochs=4", "evaluation.candidates=10"])
    assert few["best_mrr"] > 2 * before["best_mrr"]
    assert few["best_checkpoint"] in ("3.0.0", "4.0.0")
    every = resume_run(run, sets=["training.epochs=6", "evaluation.candidates=all"])
    assert every["best_mrr"] < few["best_mrr"] / 2
    assert every["best_checkpoint"] in ("5.0.0", "6.0.0")


def test_figures_that_are_evaluated_less_often_are_of_the_same_kind(evaluated):
    run, before = evaluated
    told = resume_run(run, sets=["training.epochs=4", "evaluation.every_epochs=2"])
    assert told["best_mrr"] >= before["best_mrr"]
    assert told["best_checkpoint"] == "4.0.0" or told["best_checkpoint"] == before["best_checkpoint"]


def test_a_refused_resume_and_a_refused_start_leave_nothing(run, tiny_dataset, tmp_path, monkeypatch):
    monkeypatch.setattr(ways, "usable_ways", lambda rounding, loss: ["vectors"])
    before = files_of(run)
    with pytest.raises(UserError, match="avx512, which this processor does not have"):
        resume_run(run, sets=["training.epochs=4", "training.scoring=avx512"])
    assert files_of(run) == before
    missing = load(sets=[*LINKS, "training.scoring=avx512"])
    for refused in (lambda: train_run(tiny_dataset, tmp_path / "new", missing), lambda: plan_run(tiny_dataset, missing)):
        with pytest.raises(UserError, match="avx512, which this processor does not have"):
            refused()
    assert not (tmp_path / "new").exists()


def test_the_best_is_kept_however_seldom_checkpoints_are(tiny_dataset, tmp_path, monkeypatch):
    """Figures rise once and fall then. No checkpoint is due where they are best."""
    evaluate, figures = Work.evaluate, [0.1, 0.3, 0.2, 0.15, 0.1, 0.05]
    monkeypatch.setattr(Work, "evaluate", lambda self: {**evaluate(self), "mrr": figures.pop(0)})
    sets = ["training.epochs=6", "checkpoint.every_epochs=10", "checkpoint.keep=1", "evaluation.every_epochs=1"]
    told = train_run(tiny_dataset, tmp_path / "run", load(sets=[*LINKS, *sets]))
    assert (told["best_mrr"], told["best_checkpoint"]) == (0.3, "2.0.0")
    assert sorted(path.name for path in (tmp_path / "run" / "checkpoints").glob("?.?.?")) == ["2.0.0", "6.0.0"]
