"""Processes that train together come to the rows of one process, and end where one of them does."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest
from link_runs import amounts_to
from open_parts import LINKS

from marius_lite.checkpoint.run_folder import RunFolder, config_of, read_record
from marius_lite.errors import RunError
from marius_lite.estimate import plan_run
from marius_lite.machine_process import MachineProcess
from marius_lite.processes import group as process_group
from marius_lite.processes.group import ProcessGroup
from marius_lite.processes.start import _free_port

SETS = [each for setting in [*LINKS, "scale.ranks=2", "training.batch_size=20"] for each in ("--set", setting)]

TALK = """
import sys, torch
from pathlib import Path
from marius_lite.errors import EndedElsewhere, UserError
from marius_lite.machine_process import this_process
from marius_lite.processes.group import ProcessGroup
group = ProcessGroup(this_process())
rank = int(sys.argv[1])
mine = [torch.full((3,), float(lane)) for lane in group.lanes(5)]
assert [v[0].item() for v in group.vectors(mine, 5, 1)] == [0, 1, 2, 3, 4]
assert group.gathered(rank) == [0, 1]
before = group.counters()["meet_bytes"]
assert [each.tolist() for each in group.beside(torch.full((3,), float(rank)))] == [[1.0 - rank] * 3]
assert group.counters()["meet_bytes"] - before == 12
claims = [group.claimed("nodes", 1 + rank) for _ in range(50)]
assert max(each for claims in group.gathered(claims) for each in claims) == 150
assert group.claimed("others", 4) in (4, 8)
assert group.first(lambda: {"from": rank}) == {"from": 0}
def fail():
    raise UserError("no such thing")
try:
    group.first(fail)
except UserError:
    assert rank == 0
except EndedElsewhere as ended:
    assert rank == 1 and ended.exit_code == 2
group.close()
assert not [name for name in Path("/proc/self/task").glob("*/comm") if "gloo" in name.read_text()]
"""
STOPS = """
import sys, time
from marius_lite.machine_process import this_process
from marius_lite.processes import group as process_group
process_group.BEAT, process_group.SILENT = 0.1, 1.0
group = process_group.ProcessGroup(this_process())
group.gathered(None)
if sys.argv[1] == "1":
    print("ready", flush=True)
    time.sleep(60)
group.gathered(None)
"""
LEAVES = """
import sys, time
from marius_lite.machine_process import this_process
from marius_lite.processes import group as process_group
process_group.BEAT = 1e-5
group = process_group.ProcessGroup(this_process())
group.gathered(None)
time.sleep(0.1)
group.leave()
sys.exit(3)
"""
RESTARTS = """
import sys
import torch.distributed as dist
from marius_lite.machine_process import MachineProcess
from marius_lite.processes.group import ProcessGroup
port = int(sys.argv[1])
store = dist.TCPStore("127.0.0.1", port, None, True, wait_for_workers=False)
for restarts in range(3):
    group = ProcessGroup(MachineProcess(0, 1, "127.0.0.1", port, True, restarts))
    assert group.has_begun == (restarts == 2), restarts
    if restarts == 1:
        group.begin()
    group.close()
"""


def place_of(rank, port):
    return {
        "RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }


def start(code, rank, port):
    return subprocess.Popen(
        [sys.executable, "-c", code, str(rank)],
        env={**os.environ, **place_of(rank, port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_say_the_same_to_each_other(forked):
    port = _free_port()
    processes = [forked(TALK, rank, env=place_of(rank, port)) for rank in range(2)]
    told = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], told


def test_a_process_that_stands_still_is_named_and_ends_the_others(forked):
    port = _free_port()
    first, second = (forked(STOPS, rank, env=place_of(rank, port)) for rank in range(2))
    assert second.first_line() == "ready\n"
    second.send_signal(signal.SIGSTOP)
    try:
        told = first.communicate(timeout=60)[1]
    finally:
        second.kill()
        second.communicate()
    assert first.returncode == 1
    assert "process 1 of 2 has not answered" in told


def test_a_process_that_leaves_ends_with_its_own_code_whatever_its_threads_ask():
    port = _free_port()
    processes = [start(LEAVES, rank, port) for rank in range(2)]
    told = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [3, 3], told


def test_who_is_started_again_knows_whether_the_run_had_begun(forked):
    process = forked(RESTARTS, _free_port(), env={"GLOO_SOCKET_IFNAME": "lo"})
    assert process.wait() == 0, process.communicate()


@pytest.mark.slow
def test_torchrun_leaves_an_older_run_alone_also_when_it_starts_again(tiny_dataset, cli, tmp_path):
    run = tmp_path / "run"
    assert cli("train", tiny_dataset, "--run", run, *SETS) == 0
    before = amounts_to(run)
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", "1"]
    train = ["-m", "--", "marius_lite", "train", str(tiny_dataset), "--run", str(run), *SETS, "--set", "training.epochs=9"]
    ended = subprocess.run([sys.executable, *launch, *train], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode
    assert ended.stderr.count(f"{run}: exists already") == 2
    assert amounts_to(run) == before


def test_two_processes_train_the_rows_of_one(tiny_dataset, cli, tmp_path):
    assert cli("train", tiny_dataset, "--run", tmp_path / "one", *SETS) == 0
    assert cli("train", tiny_dataset, "--run", tmp_path / "two", *SETS, "--processes", "2") == 0
    assert amounts_to(tmp_path / "two") == amounts_to(tmp_path / "one")
    planned = plan_run(tiny_dataset, config_of(RunFolder(tmp_path / "two"), read_record(RunFolder(tmp_path / "two"))))
    partition = planned["start"]["rows_written"] // planned["partitions"]
    lines = [json.loads(line) for line in (tmp_path / "two" / "metrics.jsonl").read_text().splitlines()]
    machines = [line["machine"] for line in lines if line["kind"] == "epoch"]
    for said, machine in zip((planned["first_epoch"], planned["later_epoch"]), machines, strict=True):
        assert machine["loads"] * partition == said["rows_read"], "what both have moved"
        assert machine["writes"] * partition == said["rows_written"]
        assert machine["meet_bytes"] > 0 < machine["meet_s"] < machine["seconds"]
        assert 0 < machine["hand_over_s"] < machine["seconds"]


def test_more_processes_than_lanes_are_refused(tiny_dataset, cli, forked_processes, tmp_path, capfd):
    assert cli("train", tiny_dataset, "--run", tmp_path / "run", *SETS, "--set", "scale.ranks=1", "--processes", "2") == 2
    assert capfd.readouterr().err.count("2 processes were started, but `scale.ranks` is 1") == 1
    assert not (tmp_path / "run").exists(), "the same command with more lanes must not find a run there"


def test_who_finds_nobody_says_where_it_looked(monkeypatch):
    from datetime import timedelta

    monkeypatch.setattr(process_group, "CALL", timedelta(seconds=1))
    port = _free_port()
    with (
        pytest.raises(RunError, match=f"process 1 of 2: the others do not answer at 127.0.0.1:{port}"),
        closing(ProcessGroup(MachineProcess(1, 2, "127.0.0.1", port))),
    ):
        pass


def test_what_gloo_says_is_told_without_its_source_and_advice():
    said = RuntimeError(
        "[/a/b/pair.cc:537] Read error [127.0.0.1]:11687: Connection reset by peer. This is typically caused by a remote worker "
        "hanging. GLHF!\nmore"
    )
    assert process_group._line(said) == "Read error [127.0.0.1]:11687: Connection reset by peer"
    assert process_group._line(OSError("no place\n")) == "no place"
