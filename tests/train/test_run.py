"""What starts and what continues a run: refusals before anything is written, and what a finished run has to say."""

import shutil

import pytest
from open_parts import LINKS

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.train.run import resume_run, train_run


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


def test_a_run_is_not_written_over(run, tiny_dataset):
    before = files_of(run)
    with pytest.raises(UserError, match="exists"):
        train_run(tiny_dataset, run, load(sets=LINKS))
    assert files_of(run) == before


def test_lost_lines_are_told_and_cost_nothing_else(run, caplog):
    (run / "metrics.jsonl").unlink()
    assert resume_run(run, sets=["training.epochs=3"])["epochs"] == 3
    assert "lines of what was trained before it are missing" in caplog.text
