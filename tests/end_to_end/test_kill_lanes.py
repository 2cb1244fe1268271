"""Whichever process of a run is killed at whichever instant: it goes on, in any number of processes, to the same bits."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from link_runs import amounts_to
from node_runs import options
from open_parts import LINKS

SETTINGS = [*LINKS, "scale.ranks=4", "training.batch_size=10", "training.epochs=6", "checkpoint.every_minutes=0.002"]
SETS = [each for setting in SETTINGS for each in ("--set", setting)]
OF_NODES = (
    "scale.ranks=4",
    "sampling.scope=exact",
    "storage.capacity=2",
    "training.batch_size=8",
    "checkpoint.every_minutes=0.002",
)
KILLS, AT_A_RUN = 30, 3


def start(arguments, processes):
    command = [sys.executable, "-m", "marius_lite", *map(str, arguments), "--quiet", "--processes", str(processes)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def lanes_of(process):
    """The process ids that train: the children of the one that was started, or itself."""
    try:
        return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()] or [process.pid]
    except FileNotFoundError:
        return []


@pytest.fixture(scope="module")
def eight(tiny_dataset, cli, tmp_path_factory):
    folder = tmp_path_factory.mktemp("eight") / "dataset"
    assert cli("repartition", tiny_dataset, "--output", folder, "--partitions", "8") == 0
    return folder


@pytest.fixture(scope="module")
def undisturbed(eight, cli, tmp_path_factory):
    run = tmp_path_factory.mktemp("whole") / "run"
    assert cli("train", eight, "--run", run, *SETS) == 0
    return amounts_to(run)


def killed_until_it_ends(dataset, run, kills, chance, settings):
    """Train, kill one of the processes ``kills`` times, and go on each time. Returns how many kills met a process."""
    met = 0
    while True:
        begun = (run / "config.yaml").exists()
        process = start(["resume", run] if begun else ["train", dataset, "--run", run, *settings], chance.choice([1, 2, 4]))
        if kills:
            kills -= 1
            time.sleep(chance.uniform(1.0, 6.0))
            victims = lanes_of(process)
            if process.poll() is None and victims:
                os.kill(chance.choice(victims), signal.SIGKILL)
                met += 1
        told, _ = process.communicate(timeout=120)
        if process.returncode == 0:
            return met
        assert process.returncode in (1, -signal.SIGKILL), told


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(KILLS // AT_A_RUN))
def test_a_killed_process_costs_no_bit(seed, eight, undisturbed, tmp_path):
    run = tmp_path / "run"
    killed_until_it_ends(eight, run, AT_A_RUN, random.Random(seed), SETS)
    assert amounts_to(run) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_process_costs_no_bit_where_nodes_are_classified(seed, communities, cli, tmp_path):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    settings = options(*OF_NODES, "training.epochs=20", "model.norm=batch")
    assert cli("train", communities, "--run", tmp_path / "whole", *settings) == 0
    killed_until_it_ends(communities, tmp_path / "run", AT_A_RUN, random.Random(seed), settings)
    assert amounts_to(tmp_path / "run") == amounts_to(tmp_path / "whole")
