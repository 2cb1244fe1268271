"""Out of core for real: I/O hidden behind training, memory that the table does not fit in, bytes as planned."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
DELAY_MS = 50
HIERARCHIES = (
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
    (Path("/sys/fs/cgroup"), "memory.max", "memory.peak"),
)


def lines(run, kind):
    read = (json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines())
    return [line for line in read if line["kind"] == kind]


def test_a_slow_disk_is_hidden_behind_training(program, tmp_path):
    """50 ms more for every partition read: training waits for all of it without prefetching, for little with it.

    What it waited is compared, not the seconds of two epochs: those differ by more when another process takes the CPU.
    """
    settings = [
        "--set",
        "storage.capacity=2",
        "--set",
        "training.epochs=1",
        "--set",
        "evaluation.every_epochs=0",
        "--set",
        "model.dim=64",
        "--set",
        "negatives.count=20000",
        "--set",
        "checkpoint.every_minutes=null",
    ]
    waited = {}  # prefetch -> share of the delays
    for prefetch in ("true", "false"):
        run = tmp_path / prefetch
        code, told = program.train(
            run, *settings, "--set", f"storage.prefetch={prefetch}", DELAY=f"pread:/live/nodes/c/:{DELAY_MS}"
        )
        assert code == 0, told
        (epoch,) = lines(run, "epoch")
        assert epoch["machine"]["loads"] >= 5
        waited[prefetch] = epoch["machine"]["wait_s"] / (epoch["machine"]["loads"] * DELAY_MS / 1000)
    assert waited["true"] < 0.6 < 0.8 < waited["false"], waited


@pytest.fixture
def limited_memory():
    """A memory control group of our own: limit(bytes) -> what a child calls to join it, and where its peak stands."""
    for root, limit, peak in HIERARCHIES:
        group = root / f"marius_lite_test_{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).read_text()
        except OSError:
            continue

        def arm(size, group=group, limit=limit, peak=peak):
            (group / limit).write_text(str(size))
            return lambda: (group / "cgroup.procs").write_text(str(os.getpid())), group / peak

        yield arm
        group.rmdir()
        return
    pytest.skip("no memory control group can be made here (root, and a writable /sys/fs/cgroup, are needed)")


def test_memory_for_the_table_need_not_exist(tmp_path, cli, limited_memory):
    """A table of 740 MB, in a control group that holds neither it nor its page cache."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "edges.npy", rng.permutation(800_000).reshape(-1, 2))
    assert cli("preprocess", tmp_path / "edges.npy", "--output", tmp_path / "dataset", "--partitions", "32") == 0
    settings = {
        "model.dim": 200,
        "storage.memory": "190MB",
        "training.epochs": 1,
        "training.batch_size": 2000,
        "negatives.count": 20,
        "negatives.chunks": 2,
        "model.decoder": "dot",
        "training.threads": 1,
    }
    join, peak = limited_memory(620 << 20)
    command = [
        sys.executable,
        "-c",
        "from marius_lite.cli.main import main; main()",
        "train",
        tmp_path / "dataset",
        "--run",
        tmp_path / "run",
        *(f"--set={key}={value}" for key, value in settings.items()),
    ]
    done = subprocess.run(command, preexec_fn=join, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = sum(file.stat().st_size for file in (tmp_path / "run/live").rglob("0"))
    (epoch,) = lines(tmp_path / "run", "epoch")
    assert epoch["edges"] == 400_000 * len(lines(tmp_path / "run", "epoch"))
    assert table > int(peak.read_text()), (table, peak.read_text())
    assert epoch["machine"]["peak_rss"] < 620 << 20


def test_bytes_moved_are_the_bytes_planned(tmp_path, cli, capfd):
    """What the kernel saw reach the disk, against `plan`, within 2 %."""
    rng = np.random.default_rng(1)
    np.save(tmp_path / "edges.npy", rng.integers(200_000, size=(400_000, 2)))
    assert cli("preprocess", tmp_path / "edges.npy", "--output", tmp_path / "dataset", "--partitions", "16") == 0
    settings = [
        f"--set={pair}"
        for pair in (
            "model.dim=100",
            "model.decoder=dot",
            "storage.capacity=4",
            "training.epochs=2",
            "training.batch_size=20000",
            "negatives.count=20",
            "negatives.chunks=2",
        )
    ]
    capfd.readouterr()
    assert cli("plan", tmp_path / "dataset", *settings, "--json") == 0
    plan = json.loads(capfd.readouterr().out)
    assert cli("train", tmp_path / "dataset", "--run", tmp_path / "run", *settings) == 0
    step = plan["capacity"] * plan["disk"]["rows"] / plan["partitions"]
    ahead = step  # of the epoch after it, perhaps still under way when a line was written: then it counts there
    for epoch, planned in zip(lines(tmp_path / "run", "epoch"), (plan["first_epoch"], plan["later_epoch"])):
        moved = epoch["machine"]
        assert moved["bytes_read"] == pytest.approx(planned["rows_read"], rel=0.02, abs=ahead)
        if moved.get("disk_read"):  # 0 where the disk is no block device; libraries loaded late count too
            assert moved["disk_read"] == pytest.approx(planned["rows_read"] + planned["edges_read"], rel=0.02, abs=12e6 + ahead)
    read, written = (sum(e["machine"][key] for e in lines(tmp_path / "run", "epoch")) for key in ("bytes_read", "bytes_written"))
    flushed = step  # written at the end, after the last line
    assert read == pytest.approx(plan["first_epoch"]["rows_read"] + plan["later_epoch"]["rows_read"], rel=0.02)
    planned = plan["first_epoch"]["rows_written"] + plan["later_epoch"]["rows_written"]
    under_way = 4 * plan["disk"]["rows"] / plan["partitions"]  # at most one for each I/O thread when a line was written
    assert 0.98 * planned - under_way <= written + flushed <= 1.02 * planned
