"""What a run of link prediction amounts to, and one that was stopped on its way."""

import json

from stopped_runs import stops_after


def amounts_to(run):
    """What its lines say of losses and figures, and the bytes of its dense weights and of its rows."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    told = [(line["kind"], line["epoch"], line["step"], line["batch"], line.get("loss"), line.get("mrr")) for line in lines]
    latest = run / "checkpoints" / "latest"
    rows = [path.read_bytes() for path in sorted((latest / "nodes" / "c").glob("*/0"))]
    return told, (latest / "dense.safetensors").read_bytes(), rows


def stopped_twice(cli, monkeypatch, run, *training):
    """Train with these arguments; SIGTERM comes after the third batch and after the twentieth, and the run is resumed."""
    with stops_after(monkeypatch, 3, 20):
        assert cli("train", *training, "--run", run) == 143
        assert cli("resume", run) == 143
        assert cli("resume", run) == 0
