"""Whole calls of scripts/gpu_check with a pretended GPU and small parts: killed, cut, continued. Nothing found is lost."""

import itertools
import os
import random
import signal
import subprocess

import pytest
from rehearsal import Rehearsal, alive, wait_until


@pytest.fixture
def rehearsal(tmp_path):
    return Rehearsal(tmp_path)


def test_a_whole_call_ends_well(rehearsal):
    rehearsal.plan(gpu_agreement=["agree"], gpu_a=["bench", 3], gpu_a_then_disk=["bench"])
    assert rehearsal.call() == 0
    assert rehearsal.outcomes() == [("gpu_agreement", "done"), ("gpu_a", "done"), ("gpu_a disk", "done")]
    assert [line["figure"] for line in rehearsal.lines("figure", part="gpu_a")] == ["gpu_a: 0", "gpu_a: 1", "gpu_a: 2"]
    assert {line["benchmark"] for line in rehearsal.lines("figure", part="gpu_a disk")} == {"gpu_a"}
    assert [line["settings"] for line in rehearsal.lines("settings")] == [{"run": 1}] * 3
    assert {(line["hash"], line["gpu"], line["driver"]) for line in rehearsal.lines("begin")} == {("a", "NVIDIA Test", "1.2")}
    assert "not a figure" in rehearsal.errors
    assert "gpu_a: 2" in rehearsal.said
    assert "| gpu_a: 2 | 1 x |" in rehearsal.record.with_suffix(".md").read_text()
    assert rehearsal.call() == 0
    assert len(rehearsal.ran()) == 3


def test_what_was_told_before_a_kill_is_kept_and_the_part_runs_again(rehearsal):
    rehearsal.plan(gpu_a=[], gpu_b=["bench", 5, 0, "hang once"], gpu_c=[])
    process = rehearsal.start()
    wait_until(lambda: rehearsal.noted("hangs gpu_b"))
    wait_until(lambda: len(rehearsal.lines("figure", part="gpu_b")) == 5)  # though the part has not ended
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (part,) = [int(line.split()[1]) for line in rehearsal.noted("gpu_b ")]
    wait_until(lambda: not alive(part))  # the part lives in another group, and ends all the same
    before = rehearsal.record.read_bytes()
    assert rehearsal.outcomes() == [("gpu_a", "done")]

    assert rehearsal.call() == 0
    assert rehearsal.record.read_bytes().startswith(before)
    assert rehearsal.ran() == ["gpu_a", "gpu_b", "gpu_b", "gpu_c"]
    assert rehearsal.outcomes() == [("gpu_a", "done"), ("gpu_b", "done"), ("gpu_c", "done")]
    assert "| gpu_b: 4 | 2 x |" in rehearsal.record.with_suffix(".md").read_text()


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_calls_that_are_killed_at_any_time_find_all_in_the_end(rehearsal, seed):
    """Whatever was recorded stays, and no part that ended runs again."""
    rng, names = random.Random(seed), [f"gpu_{k}" for k in range(4)]
    rehearsal.plan(**{name: ["bench", rng.randrange(2, 6), 0.1] for name in names})
    before, code, kills = b"", None, 0
    for calls in itertools.count():
        assert calls < 60
        process = rehearsal.start()
        try:
            process.communicate(timeout=rng.uniform(0.1, 0.6 + 0.1 * calls))
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
        now = rehearsal.record.read_bytes() if rehearsal.record.exists() else b""
        assert now.startswith(before)
        before = now
        if code is not None:
            break
    assert code == 0
    assert kills >= 2
    ends = [name for name, outcome in rehearsal.outcomes() if outcome == "done"]
    assert ends == names
    last = {name: max(k for k, each in enumerate(rehearsal.ran()) if each == name) for name in names}
    assert sorted(last, key=last.get) == names
    assert len(rehearsal.ran()) <= len(names) + kills
    for name in names:
        count, run = rehearsal.parts[name][1], rehearsal.ran().count(name)
        assert [line["value"] for line in rehearsal.lines("figure", part=name)][-count:] == [run] * count


def test_a_call_that_is_asked_to_end_ends_its_part_too(rehearsal):
    rehearsal.plan(gpu_a=["bench", 1, 0, "hang"])
    process = rehearsal.start()
    wait_until(lambda: rehearsal.noted("hangs"))
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert not alive(int(rehearsal.noted("gpu_a ")[0].split()[1]))
    assert rehearsal.outcomes() == []


def test_a_part_that_runs_into_its_limit_keeps_its_figures(rehearsal):
    rehearsal.plan(gpu_a=["bench", 3, 0, "hang"], gpu_b=[])
    assert rehearsal.call("all", "--limit", "2") == 1
    assert rehearsal.outcomes() == [("gpu_a", "time was up"), ("gpu_b", "done")]
    assert len(rehearsal.lines("figure", part="gpu_a")) == 3
    page = rehearsal.record.with_suffix(".md").read_text()
    assert "- outcome: time was up" in page
    assert "| gpu_a: 2 | 1 x |" in page
    assert "gpu_a: time was up; to run it again: --only 'gpu_a'" in rehearsal.said
    assert rehearsal.call() == 1
    assert rehearsal.ran() == ["gpu_a", "gpu_b"]


def test_a_call_whose_time_is_up_says_what_is_left_and_the_next_goes_on(rehearsal):
    rehearsal.plan(gpu_a=[], gpu_b=["bench", 2, 0, "hang once"], gpu_c=[])
    assert rehearsal.call("bench", "--time", "4") == 3
    assert rehearsal.outcomes() == [("gpu_a", "done"), ("gpu_b", "cut")]
    assert "left: gpu_b, gpu_c; the same command goes on" in rehearsal.said
    assert len(rehearsal.lines("figure", part="gpu_b")) == 2
    assert rehearsal.call("bench", "--time", "30") == 0
    assert rehearsal.ran() == ["gpu_a", "gpu_b", "gpu_b", "gpu_c"]
    assert rehearsal.outcomes()[2:] == [("gpu_b", "done"), ("gpu_c", "done")]


def test_parts_are_left_even_where_another_failed(rehearsal):
    """So whoever calls until nothing is left goes on behind a failure."""
    rehearsal.plan(gpu_a=["bench", 1, 0, "fail"], gpu_b=["bench", 1, 0, "hang once"])
    assert rehearsal.call("all", "--time", "4") == 3
    assert rehearsal.outcomes() == [("gpu_a", "failed: exit code 1; CUDA error of gpu_a"), ("gpu_b", "cut")]
    assert rehearsal.call() == 1
    assert rehearsal.ran() == ["gpu_a", "gpu_b", "gpu_b"]


def test_what_is_named_runs_again_and_the_older_lines_stay(rehearsal):
    rehearsal.plan(gpu_a=[], gpu_a_then_disk=[], gpu_b=[])
    assert rehearsal.call() == 0
    before = rehearsal.record.read_bytes()
    assert rehearsal.call("--only", "gpu_a disk") == 0
    assert rehearsal.record.read_bytes().startswith(before)
    assert rehearsal.ran() == ["gpu_a", "gpu_a disk", "gpu_b", "gpu_a disk"]
    assert [line["value"] for line in rehearsal.lines("figure", figure="gpu_a disk: 0")] == [1, 2]
    assert "| gpu_a disk: 0 | 2 x |" in rehearsal.record.with_suffix(".md").read_text()
    assert rehearsal.call("bench", "--only", "gpu_b", "--only", "gpu_a") == 0
    assert rehearsal.ran()[4:] == ["gpu_a", "gpu_a disk", "gpu_b"]
    assert rehearsal.call("agree", "--only", "gpu_b") == 2


def test_a_part_that_was_killed_when_it_ran_again_has_not_ended(rehearsal):
    rehearsal.plan(gpu_a=[])
    assert rehearsal.call() == 0
    rehearsal.plan(gpu_a=["bench", 1, 0, "hang"])
    process = rehearsal.start("--only", "gpu_a")
    wait_until(lambda: rehearsal.noted("hangs"))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    rehearsal.plan(gpu_a=[])
    assert rehearsal.call() == 0
    assert rehearsal.ran() == ["gpu_a"] * 3


def test_named_parts_that_are_left_are_named_again(rehearsal):
    rehearsal.plan(gpu_a=[], gpu_b=["bench", 1, 0, "hang"])
    assert rehearsal.call("--only", "gpu_a", "--only", "gpu_b", "--time", "3") == 3
    assert "to go on: --only 'gpu_b'" in rehearsal.said


def test_only_the_phases_that_are_asked_for_run(rehearsal):
    rehearsal.plan(gpu_agreement=["agree"], gpu_a=["bench"], gpu_fb15k=["train"])
    assert rehearsal.call("train", "agree") == 0
    assert rehearsal.ran() == ["gpu_agreement", "gpu_fb15k"]


def test_a_torn_last_line_is_passed_over(rehearsal):
    rehearsal.plan(gpu_a=[], gpu_b=[])
    assert rehearsal.call("--only", "gpu_a") == 0
    torn = rehearsal.record.read_bytes()[:-20]
    rehearsal.record.write_bytes(torn)  # the end of gpu_a is gone
    assert rehearsal.call() == 0
    assert rehearsal.ran() == ["gpu_a", "gpu_a", "gpu_b"]
    assert rehearsal.record.read_bytes().startswith(torn + b"\n{")


def test_other_sources_start_anew_and_keep_the_lines(rehearsal):
    rehearsal.plan(gpu_a=[])
    assert rehearsal.call() == 0
    before, rehearsal.hash = rehearsal.record.read_bytes(), "b"
    assert rehearsal.call() == 0
    assert rehearsal.ran() == ["gpu_a", "gpu_a"]
    assert rehearsal.record.read_bytes().startswith(before)
    assert "| hash | b |" in rehearsal.record.with_suffix(".md").read_text()
    rehearsal.hash = "a"
    assert rehearsal.call() == 0
    assert rehearsal.ran() == ["gpu_a", "gpu_a"]


def test_nothing_is_measured_with_what_was_not_built(rehearsal):
    """A failure for that reason would stay in the record."""
    rehearsal.plan(build=["build", 0, 0, "fail"], gpu_a=[])
    assert rehearsal.call() == 1
    assert rehearsal.call() == 1
    assert rehearsal.ran() == ["build"]
    assert "nothing else was begun: gpu_a" in rehearsal.said
    rehearsal.plan(build=["build", 0, 0, "end"], gpu_a=[])
    assert rehearsal.call("--only", "build") == 0
    assert rehearsal.call() == 0
    assert rehearsal.ran() == ["build", "build", "gpu_a"]


def test_what_was_built_on_another_machine_is_built_again(rehearsal):
    rehearsal.plan(build=["build", 0])
    assert rehearsal.call() == 0
    (rehearsal.folder / "no_gpu").touch()
    assert rehearsal.call() == 0
    assert rehearsal.ran() == ["build", "build"]


def test_a_record_that_cannot_be_kept_is_refused(rehearsal):
    rehearsal.plan(gpu_a=[])
    (rehearsal.folder / "records").write_text("a file")
    assert rehearsal.call() == 2
    assert len(rehearsal.errors.splitlines()) == 1
    assert rehearsal.ran() == []
