"""Whole runs, killed and starved: commands in forks of one warm process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from faults import fault_library  # noqa: F401
from whole_runs import CONFIG, EACH_BATCH, Program

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def program(fault_library, tmp_path_factory, tiny_edges):  # noqa: F811
    folder = tmp_path_factory.mktemp("program")
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    environment = os.environ | {"LD_PRELOAD": str(fault_library), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    server = Path(__file__).parent / "fork_server.py"
    with subprocess.Popen(
        [sys.executable, server, folder / "socket"], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        made = Program(str(folder / "socket"), folder / "dataset", config)
        code, told = made.start(
            "preprocess", tiny_edges, "--output", made.dataset, "--partitions", "6", "--split", "0.9,0.1,0"
        ).wait()
        assert code == 0, told
        yield made
        process.send_signal(signal.SIGTERM)


@pytest.fixture(scope="session")
def expected(program, tmp_path_factory):
    """What the run of CONFIG amounts to when nothing goes wrong."""
    return program.finish(tmp_path_factory.mktemp("expected") / "run")


@pytest.fixture(scope="session")
def expected_by_batch(program, tmp_path_factory):
    """Likewise for CONFIG with EACH_BATCH: a checkpoint after each of few batches, so that every run makes the same calls."""
    return program.finish(tmp_path_factory.mktemp("expected") / "run", *EACH_BATCH)
