"""Short runs of node classification, and what they tell of themselves."""

import json
import re

from stopped_runs import stops_after

SETTINGS = [
    "task=node_classification",
    "model.encoder=sage",
    "model.layers=[16]",
    "sampling.fanouts=[5,5]",
    "sampling.scope=resident",
    "training.threads=1",
    "training.batch_size=40",
    "optimizer.dense.name=adam",
    "optimizer.dense.lr=0.02",
    "training.epochs=8",
    "evaluation.every_epochs=4",
]


def options(*more):
    return ["--config", "preset:plain", *(part for item in (*SETTINGS, *more) for part in ("--set", item))]


def lines(run, kind):
    return [line for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()) if line["kind"] == kind]


def bits(run):
    """What a run has learned, and all that it measured on the way."""
    weights = {path.name: (path / "dense.safetensors").read_bytes() for path in run.glob("checkpoints/[0-9]*")}
    losses = [(line["epoch"], line["batch"], line["loss"]) for line in lines(run, "batch")]
    figures = [{key: value for key, value in line.items() if key not in ("time", "machine")} for line in lines(run, "evaluation")]
    return weights, losses, figures


def train(cli, dataset, run, *settings):
    assert cli("train", dataset, "--run", run, "--quiet", *options(*settings)) == 0
    return bits(run)


def forget(run, key):
    """Take a setting out of a run's record, as if the run were from before it existed."""
    record = run / "config.yaml"
    text, found = re.subn(rf"\n +{key}: .*", "", record.read_text())
    assert found == 1
    record.write_text(re.sub(r"\nchecksum:.*", "\nchecksum: none", text))


def require_usable(cli, run, tmp_path, capfd):
    """That the best checkpoint has the figure that it was chosen by, tells classes and is exported."""
    capfd.readouterr()
    assert cli("eval", run, "--split", "valid", "--json") == 0
    best = max(line["accuracy"] for line in lines(run, "evaluation"))
    assert json.loads(capfd.readouterr().out)["accuracy"] == best
    assert cli("predict", run) == 0
    assert len(capfd.readouterr().out.splitlines()) > 100
    assert cli("export", run, "--output", tmp_path / "vectors", "--format", "parquet") == 0


def amounts_to(run):
    told = [(line["epoch"], line["step"], line["batch"], line["loss"]) for line in lines(run, "batch")]
    accuracies = [(line["epoch"], line["accuracy"]) for line in lines(run, "evaluation")]
    live = run / "checkpoints" / "latest" / "nodes" / "c"
    rows = [path.read_bytes() for path in sorted(live.glob("*/0"))] if live.exists() else []
    return told, accuracies, (run / "checkpoints" / "latest" / "dense.safetensors").read_bytes(), rows


def train_in_parts(cli, dataset, folder, given, monkeypatch):
    """Train a run at once, and one that is stopped twice: both come to the same."""
    assert cli("train", dataset, "--run", folder / "whole", *options(*given)) == 0
    with stops_after(monkeypatch, 2, 5):
        assert cli("train", dataset, "--run", folder / "parts", *options(*given)) == 143
        assert [cli("resume", folder / "parts") for _ in range(2)] == [143, 0]
    assert amounts_to(folder / "parts") == amounts_to(folder / "whole")
