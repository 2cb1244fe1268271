"""Processes without a common folder come to the rows of one process; a killed one leaves nothing that matters."""

import shutil
import signal
import time

import pytest
from link_runs import amounts_to
from node_runs import lines, options
from open_parts import LINKS

from marius_lite.processes.apart import PREFIX, folders_of, own_folder
from marius_lite.processes.one_process import OneProcess
from marius_lite.processes.start import _free_port

LANES = ["scale.ranks=4", "training.batch_size=40", "storage.capacity=2", "checkpoint.every_minutes=0.002"]
SETS = [each for setting in [*LINKS, *LANES] for each in ("--set", setting)]


@pytest.fixture(scope="module")
def machines(tiny_dataset, cli, tmp_path_factory):
    """Two folders, each with a copy of a dataset in 8 partitions; ``one``, a run of one process."""
    folder = tmp_path_factory.mktemp("machines")
    (folder / "a").mkdir()
    assert cli("repartition", tiny_dataset, "--output", folder / "a" / "d", "--partitions", "8") == 0
    shutil.copytree(folder / "a" / "d", folder / "b" / "d")
    assert cli("train", folder / "a" / "d", "--run", folder / "one", *SETS) == 0
    return folder


@pytest.fixture
def started(forked):
    """Starts a process of two, each in a folder of its own."""

    def start(machines, rank, port, *arguments):
        place = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        return forked([*map(str, arguments)], env={**place, "GLOO_SOCKET_IFNAME": "lo"}, cwd=machines / "ab"[rank])

    return start


def ended(processes):
    told = [process.communicate(timeout=300)[1] for process in processes]
    return [process.returncode for process in processes], told


def test_two_folders_come_to_the_rows_of_one(started, machines):
    port = _free_port()
    codes, told = ended([started(machines, rank, port, "train", "d", "--run", "run", *SETS) for rank in range(2)])
    assert codes == [0, 0], told
    assert amounts_to(machines / "a" / "run") == amounts_to(machines / "one")
    assert sorted(path.name for path in (machines / "b").iterdir()) == ["d"]


@pytest.mark.slow
def test_workers_of_unequal_speed_need_no_common_folder(started, communities, tmp_path):
    """Weights alone go from one to the other; a run goes on from what the first one has saved."""
    for each in "ab":
        shutil.copytree(communities, tmp_path / each / "d")
    sets = options("sampling.scope=auto", "scale.mode=adaptive", "scale.ranks=2", "training.epochs=2")
    for command in (["train", "d", "--run", "run", *sets], ["resume", "run", "--dataset", "d", "--set", "training.epochs=4"]):
        port = _free_port()
        codes, told = ended([started(tmp_path, rank, port, *command) for rank in range(2)])
        assert codes == [0, 0], told
    merges = lines(tmp_path / "a" / "run", "merge")
    assert {line["epoch"] for line in merges} == {0, 1, 2, 3}
    assert all(sum(line["machine"]["nodes"][rank] for line in merges) for rank in range(2))
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["d"]


def test_a_process_without_the_dataset_says_so(started, machines):
    port = _free_port()
    (machines / "b" / "d").rename(machines / "b" / "elsewhere")
    try:
        codes, told = ended([started(machines, rank, port, "train", "d", "--run", "none", *SETS) for rank in range(2)])
    finally:
        (machines / "b" / "elsewhere").rename(machines / "b" / "d")
    assert codes == [1, 2]
    assert "d: no such folder" in told[1]
    assert "Traceback" not in "".join(told)


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_process_leaves_nothing_that_matters(killed, started, machines):
    port, run = _free_port(), f"killed-{killed}"
    processes = [started(machines, rank, port, "train", "d", "--run", run, *SETS) for rank in range(2)]
    while not (machines / "a" / run / "checkpoints" / "latest").exists():
        time.sleep(0.01)
    processes[killed].send_signal(signal.SIGKILL)
    assert 0 not in ended(processes)[0]
    port = _free_port()
    codes, told = ended([started(machines, rank, port, "resume", run, "--dataset", "d") for rank in range(2)])
    assert codes == [0, 0], told
    assert amounts_to(machines / "a" / run) == amounts_to(machines / "one")
    assert not (machines / "b" / run).exists()


def test_a_process_alone_has_the_folder_of_the_run(tmp_path):
    assert folders_of(OneProcess(), tmp_path) == [0]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_its_own_is_removed_with_what_killed_processes_left(tmp_path):
    (tmp_path / "run" / f"{PREFIX}left").mkdir(parents=True)
    with own_folder(tmp_path / "run") as place:
        assert [each.name for each in (tmp_path / "run").iterdir()] == [place.name]
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    with own_folder(tmp_path / "run"):
        pass
    assert [each.name for each in (tmp_path / "run").iterdir()] == ["mine"]
