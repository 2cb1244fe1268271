"""A run's timeline says when each step, wait, checkpoint and evaluation was, and each load and write of a partition."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.metrics import read
from marius_lite.metrics.timeline import MOST, SHORTEST, Timeline
from marius_lite.storage.buffer import PastTransfer


def test_a_run_out_of_core_tells_what_it_did(link_run):
    lines = read(link_run / "metrics.jsonl")
    told = [line["machine"] for line in lines if line["kind"] == "timeline"]
    steps = [line for line in lines if line["kind"] == "step"]
    assert len(told) == len(steps) + 1  # the last has the last checkpoint
    assert len({line["started"] for line in told}) == 1
    for line in told[:-1]:
        ((begin, end),) = line["step"]
        assert 0 <= begin < end
        assert set(line["trained"]) <= set(line["resident"])
        assert all(begin - 1e-3 <= b <= e <= end + 1e-3 for b, e in line.get("wait", []))
    assert [line["step"][0] for line in told[:-1]] == sorted(line["step"][0] for line in told[:-1])
    assert told[-1]["checkpoint"]
    loads = sum(len(line.get("load", [])) for line in told)
    assert loads >= sum(line["machine"]["loads"] for line in steps) > 0
    assert all(begin <= end for line in told for _, begin, end in (*line.get("load", []), *line.get("write", [])))


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.integers(0, 99), st.integers(0, 99)), max_size=5))
def test_transfers_are_told_by_what_they_are(transfers):
    timeline = Timeline()
    taken = timeline.take([PastTransfer(*one) for one in transfers])
    assert [k for k, _, _ in taken.get("load", [])] == [k for k, is_write, _, _ in transfers if not is_write]
    assert [k for k, _, _ in taken.get("write", [])] == [k for k, is_write, _, _ in transfers if is_write]
    assert set(timeline.take([])) == {"started"}


def test_what_is_short_or_too_much_is_left_out(monkeypatch):
    timeline, now = Timeline(), time.perf_counter()
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    for ago in [SHORTEST / 2, *[1.0] * (MOST + 1)]:
        timeline.add("wait", now - ago)
    spans = timeline.take([])["wait"]
    assert len(spans) == MOST
    assert all(end - begin == pytest.approx(1.0, abs=1e-3) for begin, end in spans)
