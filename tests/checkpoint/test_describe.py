"""What `info --verify` says of a run."""

import os
import shutil

import pytest

from marius_lite.checkpoint.describe import describe_run
from marius_lite.checkpoint.state import read_state
from marius_lite.errors import UserError


def test_a_shorter_metrics_file_is_damage(link_run, tmp_path):
    run = shutil.copytree(link_run, tmp_path / "run", symlinks=True)
    assert describe_run(run, verify=True)["verified"]
    os.truncate(run / "metrics.jsonl", 100)
    with pytest.raises(UserError, match=r"metrics\.jsonl: 100 bytes, .* lines of what was trained before it are missing"):
        describe_run(run, verify=True)
    describe_run(run, verify=False)
    (run / "metrics.jsonl").unlink()
    with pytest.raises(UserError, match=r"metrics\.jsonl: 0 bytes"):
        describe_run(run, verify=True)


def test_lines_that_only_an_abandoned_checkpoint_knows(link_run, tmp_path):
    """`resume --checkpoint` cuts what came after the checkpoint, and what it leaves of later ones is whole."""
    run = shutil.copytree(link_run, tmp_path / "run", symlinks=True)
    latest, first = os.readlink(run / "checkpoints/latest"), min(p.name for p in (run / "checkpoints").glob("[0-9]*"))
    assert first != latest
    os.truncate(run / "metrics.jsonl", read_state(run / "checkpoints" / first).metrics_length)
    (run / "checkpoints/latest").unlink()
    os.symlink(first, run / "checkpoints/latest")
    assert describe_run(run, verify=True)["verified"]
