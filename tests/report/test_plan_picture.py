"""The picture shows each partition as the plan says, or as it was: never more of them resident than there are slots."""

import re
import shutil

import numpy as np
import pytest
from browser import DESKTOP, opened
from test_make import checked

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.plans import plans_of
from marius_lite.metrics import read
from marius_lite.report.plan_picture import STEPS, PlanPicture, planned, recorded
from marius_lite.tasks.resolved import resolved

pytest.importorskip("matplotlib", reason="reports need the extra `report`")


@pytest.fixture(scope="module")
def timeline(link_run):
    lines = [line["machine"] for line in read(link_run / "metrics.jsonl") if line["kind"] == "timeline" and line["epoch"] == 1]
    return [line for line in lines if "resident" in line]


def present(picture, moment):
    """The partitions that are in a state of being there at a moment, with how many states each is in."""
    spans = [span for state in ("training", "resident") for span in picture.spans[state]]
    return [k for k, begin, end in spans if begin < moment < end]


def test_what_was_recorded(timeline):
    picture = recorded(timeline, 1)
    zero = timeline[0]["step"][0][0]
    for line in timeline:
        moment = np.mean(line["step"][0]) - zero
        there = present(picture, moment)
        assert len(there) == len(set(there))
        assert set(line["resident"]) <= set(there)
    loads = sum(len(line.get("load", [])) for line in timeline)
    assert 0 < len(picture.spans["loading"]) <= loads
    assert picture.spans["writing"]
    assert all(begin <= end for spans in picture.spans.values() for _, begin, end in spans)


@pytest.mark.parametrize("prefetch", [True, False])
def test_what_is_planned(tiny_dataset, prefetch):
    data = Dataset.open(tiny_dataset)
    config, _ = resolved(data, load(sets=["storage.capacity=2", f"storage.prefetch={str(prefetch).lower()}"]))
    plan = plans_of(data, config)(0)
    picture = planned(plan, config, data)
    for step in plan.steps:
        assert sorted(present(picture, step.index + 0.9)) == sorted(step.resident)
        loaded = [k for k, begin, _ in picture.spans["loading"] if step.index - 0.5 < begin <= step.index]
        assert sorted(loaded) == sorted(step.load)
    assert len(picture.spans["writing"]) == sum(len(step.evict) for step in plan.steps)
    assert all((begin < round(end)) == (prefetch or begin < 0) for _, begin, end in picture.spans["loading"] if end % 1 == 0)


def test_ticks_are_whole_where_there_is_one_partition():
    """Between -0.5 and 0.5 there would be eleven."""
    picture = PlanPicture("one", STEPS, "")
    picture.spans["training"].append((0, 0.0, 1.0))
    page = picture.html()
    assert not re.findall(r">\s*(?:\u2212|-)?\d+\.\d+\s*<", page)


def test_plan_draws_itself_before_the_run(cli, tiny_dataset, tmp_path, capfd):
    assert cli("plan", tiny_dataset, "--set", "storage.capacity=2", "--html", tmp_path / "plan.html") == 0
    assert "partitions, 2 resident" in capfd.readouterr().out
    text = checked(tmp_path / "plan.html")
    assert "as planned" in text
    assert len(opened(tmp_path / "plan.html", DESKTOP)["charts"]) == 1


def test_a_run_without_a_timeline_shows_its_plan(cli, link_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(link_run, run, symlinks=True)
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text("".join(line for line in lines if '"timeline"' not in line))
    assert cli("report", run) == 0
    assert "as planned" in checked(run / "report.html")
    assert cli("report", link_run, "--output", tmp_path / "page.html") == 0
    assert "epoch 2 as it was" in checked(tmp_path / "page.html")
