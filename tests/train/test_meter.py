"""A run that shows no bar tells how far it is where an epoch takes long, more and more seldom."""

import re

import pytest

from marius_lite.config.load import load
from marius_lite.train import meter
from marius_lite.train.run import train_run

SETTINGS = [
    "model.dim=4",
    "training.epochs=2",
    "training.batch_size=100",
    "training.threads=1",
    "negatives.count=5",
    "negatives.chunks=1",
    "evaluation.every_epochs=0",
]


@pytest.mark.parametrize(("quiet", "least", "most"), [(1e-4, 1, 20), (1000.0, 0, 0)])
def test_lines_midway(surrounded, tmp_path, monkeypatch, caplog, quiet, least, most):
    monkeypatch.setattr(meter, "QUIET", quiet)
    caplog.set_level("INFO", "marius_lite")
    train_run(surrounded, tmp_path / "run", load(sets=SETTINGS))
    told = [
        match
        for record in caplog.records
        if (
            match := re.fullmatch(
                r"epoch [12] of 2: (\d+)% of its edges trained, loss \d+\.\d+, \d\d:\d\d left", record.getMessage()
            )
        )
    ]
    assert least <= len(told) <= most  # twice as much time passes before each
    assert all(0 < int(match[1]) <= 100 for match in told)
    assert sum("peak memory" in record.getMessage() for record in caplog.records) == 2
