"""A trace has what the timeline has: every step, load and write, in its row; steps are training but for waiting."""

import json

import pytest
from made_runs import write_metrics

import marius_lite as ml
from marius_lite.cli.output import traced
from marius_lite.errors import UserError
from marius_lite.metrics import read
from marius_lite.processes.interrupt import Interrupted
from marius_lite.report.trace import _between


def test_every_span_of_a_run(link_run, tmp_path):
    told = ml.write_trace(link_run, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert told["events"] == len(events)
    rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    assert all(event["dur"] >= 0 and event["tid"] in rows for event in spans)
    timelines = [line["machine"] for line in read(link_run / "metrics.jsonl") if line["kind"] == "timeline"]
    for key, name in (("load", "loading"), ("write", "writing")):
        expected = [f"partition {span[0]}" for line in timelines for span in line.get(key, [])]
        assert [rows[event["tid"]] for event in spans if event["name"] == name] == expected
    steps = [event for event in spans if rows[event["tid"]] == "steps"]
    assert len(steps) == sum(line["kind"] == "step" for line in read(link_run / "metrics.jsonl"))
    assert steps[0]["name"] == "epoch 1, step 0"
    assert {"steps", "training", "checkpoints", "evaluation"} <= set(rows.values())
    for event in spans:
        if rows[event["tid"]] == "training":
            assert any(
                step["ts"] - 1 <= event["ts"] and event["ts"] + event["dur"] <= step["ts"] + step["dur"] + 2 for step in steps
            )


@pytest.mark.parametrize(
    ("step", "waits", "left"),
    [
        ((0, 9), [], [(0, 9)]),
        ((0, 9), [(2, 3), (0, 1)], [(1, 2), (3, 9)]),
        ((0, 9), [(8, 12)], [(0, 8)]),
        ((3, 9), [(1, 4), (3, 5)], [(5, 9)]),
    ],
)
def test_training_is_what_is_left(step, waits, left):
    assert list(_between([list(step)], [list(wait) for wait in waits])) == left


def test_a_resumed_run_goes_on_later_in_time(link_run, tmp_path):
    (tmp_path / "config.yaml").write_bytes((link_run / "config.yaml").read_bytes())
    with pytest.raises(UserError, match="no timeline"):
        ml.write_trace(tmp_path, tmp_path / "t")
    assert not list(tmp_path.glob("*t*.tmp"))
    write_metrics(tmp_path / "metrics.jsonl", 4, 10, pause_after=1)
    ml.write_trace(tmp_path, tmp_path / "t")
    steps = [event["ts"] for event in json.loads((tmp_path / "t").read_text())["traceEvents"] if "step 0" in event["name"]]
    assert steps == sorted(steps)
    assert steps[2] - steps[1] > 3600e6


def test_train_and_resume_write_it(cli, tiny_dataset, tmp_path):
    small = ["--set=training.epochs=1", "--set=model.dim=4", "--set=negatives.count=10", "--set=negatives.chunks=1"]
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", *small, "--trace", tmp_path / "t") == 0
    first = json.loads((tmp_path / "t").read_text())["traceEvents"]
    assert cli("resume", tmp_path / "run", "--set", "training.epochs=2", "--trace", tmp_path / "t") == 0
    assert len(json.loads((tmp_path / "t").read_text())["traceEvents"]) > len(first)


def test_a_run_stopped_in_its_first_step_says_where_it_goes_on(tmp_path, caplog):
    def stopped():
        with traced(tmp_path, tmp_path / "t"):
            raise Interrupted(2, "goes on from there")

    (tmp_path / "config.yaml").write_bytes(b"{}")
    with pytest.raises(Interrupted, match="goes on from there"):
        stopped()
    assert "no trace is written" in caplog.text
    assert not (tmp_path / "t").exists()


def test_a_trace_without_a_folder_is_refused_before_anything_runs(cli, tiny_dataset, tmp_path, capfd):
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", "--trace", tmp_path / "none" / "t") == 2
    assert f"--trace {tmp_path}/none/t: there is no folder {tmp_path}/none" in capfd.readouterr().err
    assert not (tmp_path / "run").exists()
