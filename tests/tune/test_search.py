"""Searches: the same from the same seed, also after a kill; by trials or by time; on the validation split alone."""

import csv
import json
import shutil

import numpy as np
import pretended_trials
import pytest
import yaml

from marius_lite.config.load import load
from marius_lite.errors import RunError, UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.preprocess.update import update_dataset
from marius_lite.tune import search as module
from marius_lite.tune.search import tune_dataset
from marius_lite.tune.study import JOURNAL

pytest.importorskip("optuna", reason="tune needs the extra `tune`")
SETS = ("training.epochs=9", "model.dim=8")
BY_TRIALS = {"trials": 6, "rounds": 2, "reduction": 3, "sets": SETS, "file": "preset:kg"}


@pytest.fixture
def pretended(monkeypatch):
    monkeypatch.setattr("marius_lite.tune.trial.start", pretended_trials.start)
    return monkeypatch


def table(folder):
    """The rows of all trials, without their times."""
    rows = list(csv.DictReader((folder / "trials.csv").read_text().splitlines()))
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_fewer_trials_go_on_and_the_best_is_written(pretended, tiny_dataset, tmp_path):
    result = tune_dataset(tiny_dataset, tmp_path / "t", **BY_TRIALS)
    assert result["trials"] == [6, 2]
    rows = table(tmp_path / "t")
    figures = {(row["round"], row["trial"]): float(row["mrr"]) for row in rows}
    ranked = sorted((place for place in figures if place[0] == "1"), key=lambda place: (-figures[place], int(place[1])))
    assert [row["of"] for row in rows if row["round"] == "2"] == [trial for _, trial in ranked[:2]]
    epochs = {row["round"]: {row["epochs"]} for row in rows}
    assert epochs == {"1": {"5"}, "2": {"9"}}
    best = load(tmp_path / "t" / "best.yaml")
    assert best.training.epochs == 9
    assert best.evaluation.split == "valid"
    assert pretended_trials.figure(best) == result["best_mrr"] == max(figures["2", "0"], figures["2", "1"])
    assert load("preset:kg", [*SETS, *result["settings"], "evaluation.split=valid"]) == best
    left = {path.name for path in (tmp_path / "t/runs").iterdir()}
    assert left == {result["run"].rpartition("/")[2]}
    assert len((tmp_path / "t/trials.md").read_text().splitlines()) == 2 + 8


def test_the_settings_that_it_begins_with_are_the_first_trial(pretended, tiny_dataset, tmp_path):
    result = tune_dataset(tiny_dataset, tmp_path / "t", trials=1, rounds=1, sets=SETS, file="preset:kg")
    assert result["best_mrr"] == result["preset:kg_mrr"]
    base = load("preset:kg", SETS)
    best = load(tmp_path / "t" / "best.yaml")
    assert best.model_dump(exclude={"evaluation"}) == base.model_dump(exclude={"evaluation"})


def test_trials_begin_with_all_that_train_itself_takes_for_a_dataset(pretended, cli, tmp_path):
    """Nodes without features: the preset divides features by their sum, which nothing can be trained with."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "edges.npy", rng.integers(100, size=(400, 2)))
    np.save(tmp_path / "y.npy", rng.integers(3, size=100))
    given = ["--labels", tmp_path / "y.npy", "--node-split", "0.5,0.3,0.2", "--adjacency=in"]
    assert cli("preprocess", tmp_path / "edges.npy", *given, "--output", tmp_path / "data") == 0
    begun = []

    def start(job):
        begun.append(job.config)
        job.run.mkdir()
        (job.run / "metrics.jsonl").write_text('{"kind": "evaluation", "accuracy": 0.5}\n')
        return pretended_trials.Ended()

    pretended.setattr("marius_lite.tune.trial.start", start)
    tune_dataset(tmp_path / "data", tmp_path / "t", trials=1, rounds=1)
    own = config_for(Dataset.open(tmp_path / "data"), None)
    assert begun[0].model_dump(exclude={"evaluation"}) == own.model_dump(exclude={"evaluation"})
    assert begun[0].evaluation.split == "valid"


def test_no_figure_is_told_of_settings_that_the_space_has_not(pretended, tiny_dataset, tmp_path, caplog):
    (tmp_path / "space.yaml").write_text("model.dim: [6]\nnegatives.count: [20]\n")
    dim = load("preset:kg", SETS).model.dim
    result = tune_dataset(
        tiny_dataset, tmp_path / "t", trials=2, rounds=1, sets=SETS, file="preset:kg", space=tmp_path / "space.yaml"
    )
    assert "preset:kg_mrr" not in result
    assert "has not all settings of preset:kg: model.dim" in caplog.text
    assert {row["model.dim"] for row in table(tmp_path / "t")} == {"6"} != {str(dim)}


class Killed(BaseException):
    pass


@pytest.mark.parametrize("at", [1, 4, 7])
def test_a_search_that_was_killed_goes_on_to_the_same(pretended, tiny_dataset, tmp_path, at):
    tune_dataset(tiny_dataset, tmp_path / "whole", **BY_TRIALS)
    started = []

    def killed(job):
        started.append(job)
        if len(started) == at:
            raise Killed
        return pretended_trials.start(job)

    with pretended.context() as patch:
        patch.setattr("marius_lite.tune.trial.start", killed)
        with pytest.raises(Killed):
            tune_dataset(tiny_dataset, tmp_path / "killed", **BY_TRIALS)
    with (tmp_path / "killed" / JOURNAL).open("ab") as journal:
        journal.write(b'{"op_code": 4, "half of a li')
    result = tune_dataset(tiny_dataset, tmp_path / "killed", **BY_TRIALS)
    assert table(tmp_path / "killed") == table(tmp_path / "whole")
    assert result["trials"] == [6, 2]
    assert (tmp_path / "killed/best.yaml").read_bytes() == (tmp_path / "whole/best.yaml").read_bytes()


def test_another_seed_draws_others_and_other_options_are_refused(pretended, tiny_dataset, tmp_path):
    few = {"trials": 3, "rounds": 1, "sets": SETS, "file": "preset:kg"}
    tune_dataset(tiny_dataset, tmp_path / "a", **few)
    tune_dataset(tiny_dataset, tmp_path / "b", **few, seed=1)
    assert table(tmp_path / "a") != table(tmp_path / "b")
    with pytest.raises(UserError, match="has a search with other rounds, seed: give the same options"):
        tune_dataset(tiny_dataset, tmp_path / "a", **{**few, "rounds": 2}, seed=1)


def test_by_time_every_round_has_trials(pretended, tiny_dataset, tmp_path):
    now = [0.0]
    pretended.setattr("marius_lite.tune.clock.time.monotonic", lambda: now[0])

    def slow(job):
        now[0] += 10 * job.config.training.epochs
        return pretended_trials.start(job)

    pretended.setattr("marius_lite.tune.trial.start", slow)
    result = tune_dataset(tiny_dataset, tmp_path / "t", seconds=900.0, sets=SETS, file="preset:kg", reduction=3)
    assert result["trials"][0] == 10  # 30 s each, in a third of the time
    assert result["trials"][1] == 4
    assert 1 <= result["trials"][2] <= 2
    assert now[0] <= 900 + 90


@pytest.mark.parametrize(
    ("evaluated", "told"),
    [(10, 38), (60, 60), (400, 400)],
    ids=["an eighth of a third of the time", "its first evaluation", "its first evaluation, after the round's time"],
)
def test_by_time_a_slow_trial_has_its_part_and_a_figure(pretended, tiny_dataset, tmp_path, evaluated, told):
    now = [0.0]
    pretended.setattr("marius_lite.tune.clock.time.monotonic", lambda: now[0])

    class Slow(pretended_trials.Ended):
        told = 0.0

        def __init__(self, run):
            super().__init__()
            self.lines = (run / "metrics.jsonl").read_text()
            self.metrics = run / "metrics.jsonl"
            self.metrics.write_text("")

        def is_alive(self):
            now[0] += 1
            if now[0] == evaluated:
                self.metrics.write_text(self.lines)
            return not self.told

        def terminate(self):
            self.told = now[0]

    slow = []

    def start(job):
        ended = pretended_trials.start(job)
        if slow:
            now[0] += 30
            return ended
        slow.append(Slow(job.run))
        return slow[0]

    pretended.setattr("marius_lite.tune.trial.start", start)
    result = tune_dataset(tiny_dataset, tmp_path / "t", seconds=900.0, sets=SETS, file="preset:kg")
    assert slow[0].told == told
    assert result["trials"][0] > 8 or (told == 400 and result["trials"][1:] == [1, 1])
    assert "cut" in table(tmp_path / "t")[0]["state"]


def test_where_time_is_over_in_a_later_round_the_best_of_the_one_before_is_written(pretended, tiny_dataset, tmp_path, caplog):
    now = [0.0]
    pretended.setattr("marius_lite.tune.clock.time.monotonic", lambda: now[0])

    def start(job):
        now[0] += 100
        ended = pretended_trials.start(job)
        if job.run.name.startswith("2-"):
            (job.run / "metrics.jsonl").write_text("")
        return ended

    pretended.setattr("marius_lite.tune.trial.start", start)
    result = tune_dataset(tiny_dataset, tmp_path / "t", seconds=250.0, sets=SETS, file="preset:kg")
    assert "no trial of round 2 came to a figure: time was over before its first evaluation" in caplog.text
    assert "What is written is the best of round 1, which saw less" in caplog.text
    assert "run" not in result
    assert "of round 1 of 3" in (tmp_path / "t" / "best.yaml").read_text()


def test_it_is_told_where_the_best_trial_was_cut_short(pretended, tiny_dataset, tmp_path, caplog):
    now = [0.0]
    pretended.setattr("marius_lite.tune.clock.time.monotonic", lambda: now[0])

    class Endless(pretended_trials.Ended):
        told = False

        def is_alive(self):
            now[0] += 1
            return not self.told

        def terminate(self):
            self.told = True

    pretended.setattr("marius_lite.tune.trial.start", lambda job: pretended_trials.start(job) and Endless())
    result = tune_dataset(tiny_dataset, tmp_path / "t", seconds=5.0, rounds=1, sets=SETS, file="preset:kg")
    assert result["cut"]
    assert result["epochs"] == 9
    assert f"`marius-lite resume {result['run']}` goes on with it" in caplog.text
    caplog.clear()
    pretended.setattr("marius_lite.tune.trial.start", pretended_trials.start)
    assert not tune_dataset(tiny_dataset, tmp_path / "u", **BY_TRIALS)["cut"]
    assert "time was over" not in caplog.text


def test_settings_that_contradict_each_other_fail_alone(pretended, tiny_dataset, tmp_path):
    space = tmp_path / "space.yaml"
    nothing = {"model.dim": [7, 8], **dict.fromkeys(["model.decoder", "loss.name", "model.dropout", "negatives.count"])}
    space.write_text(yaml.safe_dump(nothing))
    given = {"trials": 8, "rounds": 1, "space": space, "file": "preset:kg", "sets": SETS[:1]}
    tune_dataset(tiny_dataset, tmp_path / "t", **given)
    states = [row["state"] for row in table(tmp_path / "t")]
    assert {state.partition(":")[0] for state in states} == {"complete", "failed"}
    assert any("`model.dim` is 7" in state for state in states)
    space.write_text(yaml.safe_dump({**nothing, "model.dim": [7, 9]}))
    with pytest.raises(RunError, match=r"no trial of round 1 came to a figure: .*`model.dim` is"):
        tune_dataset(tiny_dataset, tmp_path / "u", **given)


def test_all_trials_train_on_the_version_that_the_search_began_with(pretended, tiny_dataset, tmp_path):
    dataset = shutil.copytree(tiny_dataset, tmp_path / "data")
    first, opened = Dataset.open(dataset).fingerprint, []
    (tmp_path / "new.tsv").write_text("a\tr0\tb\n" * 3)

    def updated_meanwhile(job):
        if not opened:
            update_dataset(dataset, tmp_path / "new.tsv")
        opened.append(Dataset.open(job.dataset).fingerprint)
        return pretended_trials.start(job)

    pretended.setattr("marius_lite.tune.trial.start", updated_meanwhile)
    tune_dataset(dataset, tmp_path / "t", **BY_TRIALS)
    assert Dataset.open(dataset).fingerprint != first
    assert opened[-2:] == [first] * 2  # those of the first round train on a core


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "give either --trials N or --time T"),
        ({"trials": 1, "seconds": 1.0}, "give either --trials N or --time T"),
        ({"trials": 0}, "--trials 0: must be 1 or more"),
        ({"trials": 1, "reduction": 1}, "--reduction 1: must be 2 or more"),
        ({"trials": 1, "sets": ("evaluation.split=test",)}, "compared on the validation split alone"),
        ({"trials": 1, "sets": ("model.dims=3",)}, "did you mean `model.dim`"),
    ],
)
def test_wrong_options_are_refused_and_leave_nothing(tiny_dataset, tmp_path, options, said):
    with pytest.raises(UserError) as raised:
        tune_dataset(tiny_dataset, tmp_path / "t", **options)
    assert said in str(raised.value)
    assert not (tmp_path / "t").exists()


def test_a_folder_that_is_something_else_is_refused_and_stays(pretended, tiny_dataset, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("x")
    with pytest.raises(UserError, match=r"run: exists already and is no search: it has config\.yaml: choose another --output"):
        tune_dataset(tiny_dataset, tmp_path / "run", trials=1)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["config.yaml"]


def test_a_dataset_without_validation_is_refused(cli, tiny_edges, tmp_path):
    assert cli("preprocess", tiny_edges, "--output", tmp_path / "d", "--split", "0.9,0,0.1") == 0
    with pytest.raises(UserError, match="has no validation split"):
        tune_dataset(tmp_path / "d", tmp_path / "t", trials=1)


def test_the_test_split_is_never_opened(pretended, tiny_dataset, tmp_path):
    dataset = shutil.copytree(tiny_dataset, tmp_path / "data")
    for file in (dataset / "edges/test").rglob("c/0"):
        if file.is_file():
            file.write_bytes(bytes(file.stat().st_size))
    assert tune_dataset(dataset, tmp_path / "t", **BY_TRIALS)["trials"] == [6, 2]


def test_the_command_shows_the_result(pretended, cli, tiny_dataset, tmp_path, capfd):
    given = ("--trials", "2", "--rounds", "1", *(f"--set={item}" for item in SETS), "--config", "preset:kg")
    assert cli("tune", tiny_dataset, "--output", tmp_path / "t", *given, "--json") == 0
    result = json.loads(capfd.readouterr().out)
    assert result["config"] == str(tmp_path / "t/best.yaml")
    assert cli("tune", tiny_dataset, "--output", tmp_path / "u", "--time", "soon") == 2
    assert "--time soon: write a number and s, m or h" in capfd.readouterr().err
    assert cli("tune", tiny_dataset, "--output", tmp_path / "u", "--time", "2") == 2
    assert "--time 2: write a number and s, m or h" in capfd.readouterr().err
    assert module.POLL < 1
