"""TensorBoard shows the curves of metrics.jsonl; a resumed run has each point once."""

import pytest

from marius_lite.errors import UserError
from marius_lite.metrics import event_files, read
from marius_lite.metrics.event_files import TensorBoardCurves

pytest.importorskip("tensorboard", reason="event files need the extra `tensorboard`")
SMALL = [f"--set={item}" for item in ("model.dim=4", "negatives.count=10", "negatives.chunks=1", "evaluation.every_epochs=1")]


def scalars(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder), {"scalars": 0}).Reload()
    return {tag: [(point.step, point.value) for point in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def test_a_run_and_its_continuation(cli, tiny_dataset, tmp_path):
    run = tmp_path / "run"
    assert cli("train", tiny_dataset, "--run", run, "--set=training.epochs=2", *SMALL, "--tensorboard") == 0
    assert cli("resume", run, "--set", "training.epochs=3", "--tensorboard") == 0
    lines, shown = read(run / "metrics.jsonl"), scalars(run / "tensorboard")
    losses = [(line["epoch"] + 1, pytest.approx(line["loss"])) for line in lines if line["kind"] == "epoch"]
    assert shown["loss/epoch"] == losses
    assert len(losses) == 3
    assert shown["valid/mrr"] == [
        (line["epoch"] + 1, pytest.approx(line["mrr"])) for line in lines if line["kind"] == "evaluation"
    ]
    assert {"lr/rows", "lr/dense", "machine/items_per_s", "loss/batches"} <= set(shown)


def test_batches_make_a_point_a_second(tmp_path):
    files = TensorBoardCurves(tmp_path / "events")
    for batch in range(40):
        files.add(
            {"kind": "batch", "epoch": 0, "step": 0, "batch": batch, "loss": float(batch), "edges": 1, "time": 1e9 + batch / 10}
        )
    files.close()
    assert scalars(tmp_path / "events")["loss/batches"] == [(1, 0), (11, 5.5), (21, 15.5), (31, 25.5)]


def test_without_tensorboard_nothing_begins(cli, tiny_dataset, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(event_files, "find_spec", lambda name: None)
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", "--tensorboard") == 2
    assert "pip install 'marius-lite[tensorboard]'" in capfd.readouterr().err
    assert not (tmp_path / "run").exists()
    with pytest.raises(UserError, match="tensorboard"):
        event_files.require_tensorboard()
