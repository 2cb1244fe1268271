"""Whole runs, killed and starved: commands in forks of one warm process."""

import pytest
import yaml
from whole_runs import CONFIG, EACH_BATCH, Program


@pytest.fixture(scope="session")
def program(fork_server, tmp_path_factory, tiny_edges):
    folder = tmp_path_factory.mktemp("program")
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    made = Program(fork_server, folder / "dataset", config)
    code, told = made.start(
        "preprocess", tiny_edges, "--output", made.dataset, "--partitions", "6", "--split", "0.9,0.1,0"
    ).wait()
    assert code == 0, told
    return made


@pytest.fixture(scope="session")
def expected(program, tmp_path_factory):
    """What the run of CONFIG amounts to when nothing goes wrong."""
    return program.finish(tmp_path_factory.mktemp("expected") / "run")


@pytest.fixture(scope="session")
def expected_by_batch(program, tmp_path_factory):
    """Likewise for CONFIG with EACH_BATCH: a checkpoint after each of few batches, so that every run makes the same calls."""
    return program.finish(tmp_path_factory.mktemp("expected") / "run", *EACH_BATCH)
