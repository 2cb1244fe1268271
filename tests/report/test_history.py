"""What a run recorded is read whole, in any blocks; what a crash cut short is left out; pauses are no training."""

import tracemalloc

import numpy as np
import pytest
from made_runs import LONG, STARTED, write_metrics

from marius_lite.report import history
from marius_lite.report.history import read_history


@pytest.mark.parametrize("block", [1 << 24, 5000])
def test_curves_of_a_long_run(tmp_path, monkeypatch, block):
    monkeypatch.setattr(history, "BLOCK", block)
    write_metrics(tmp_path / "metrics.jsonl", 6, LONG // 2)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"kind":"batch","epo')
    found = read_history(tmp_path / "metrics.jsonl")
    assert (found.batches, found.epochs, found.unreadable) == (3 * LONG, 6, 0)
    losses = found.curve("batch_loss")
    assert losses.high.max() == pytest.approx(10 + 3 * np.exp(-0.5))  # the one peak is there
    assert losses.place[-1] == pytest.approx(6, abs=0.01)
    np.testing.assert_allclose(found.curve("lr_rows").mean, 0.1 / np.arange(1, 7))
    np.testing.assert_allclose(found.curve("lr_rows").place, np.arange(6), atol=0.01)
    np.testing.assert_allclose(found.curve("mrr").place, np.arange(1, 7))
    assert found.timeline_epoch == 5
    assert len(found.timeline) == 1
    assert found.curve("accuracy") is None


def test_a_pause_is_left_out(tmp_path):
    write_metrics(tmp_path / "metrics.jsonl", 4, 100, pause_after=1)
    found = read_history(tmp_path / "metrics.jsonl")
    assert found.pauses == [(pytest.approx(STARTED + 2, abs=0.1), pytest.approx(STARTED + 3602, abs=0.1))]
    np.testing.assert_allclose(found.elapsed(found.curve("loss").time), [1, 2, 3, 4], atol=0.05)


def test_damaged_lines_are_counted(tmp_path):
    write_metrics(tmp_path / "metrics.jsonl", 2, 10)
    text = (tmp_path / "metrics.jsonl").read_text().splitlines()
    text[3], text[11] = '{"kind":"batch"', "what\x1b[31m"
    (tmp_path / "metrics.jsonl").write_text("\n".join(text) + "\n")
    found = read_history(tmp_path / "metrics.jsonl")
    assert (found.batches, found.unreadable) == (19, 2)
    assert read_history(tmp_path / "none").batches == 0


@pytest.mark.parametrize(
    "line", ["", '{"kind":"epoch","time":1.0}', '{"kind":"evaluation","epoch":0,"time":1.0,"mrr":"x"}', "[]"]
)
@pytest.mark.parametrize("at", [0, 15])
def test_a_line_that_is_no_record_is_counted_and_changes_nothing_else(tmp_path, line, at):
    write_metrics(tmp_path / "metrics.jsonl", 2, 10)
    whole = read_history(tmp_path / "metrics.jsonl")
    text = (tmp_path / "metrics.jsonl").read_text().splitlines()
    (tmp_path / "metrics.jsonl").write_text("\n".join([*text[:at], line, *text[at:]]) + "\n")
    found = read_history(tmp_path / "metrics.jsonl")
    assert (found.batches, found.epochs, found.unreadable) == (whole.batches, whole.epochs, 1)
    for name in ("batch_loss", "lr_rows", "loss", "mrr"):
        np.testing.assert_array_equal(found.curve(name).mean, whole.curve(name).mean)


def test_memory_does_not_grow_with_slow_batches_or_with_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "BLOCK", 5000)
    write_metrics(tmp_path / "metrics.jsonl", 300, 3, pace=history.PAUSE + 1)
    text = (tmp_path / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "metrics.jsonl").write_bytes(b"".join([*text[:30], bytes(1 << 22), b"\n", *text[30:]]))
    tracemalloc.start()
    found = read_history(tmp_path / "metrics.jsonl")
    assert tracemalloc.get_traced_memory()[1] < 1 << 21
    tracemalloc.stop()
    assert (found.batches, found.epochs, found.unreadable) == (900, 300, 1)
    assert len(found.gaps) < 10
    assert found.pauses == []
    assert [line["kind"] for line in history.lines_but_batches(tmp_path / "metrics.jsonl")].count("epoch") == 300


def test_lines_that_are_no_records_are_left_out(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('[]\n3\n{}\n{"kind":"epoch"}\n')
    assert list(history.lines_but_batches(tmp_path / "metrics.jsonl")) == [{"kind": "epoch"}]
