"""Ray starts workers of preprocess and processes of a run. Each gives the bytes of one process, also where one is killed."""

import os
import re
import runpy
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from preprocess_tools import data_files, make

import marius_lite
import marius_lite.ray
from marius_lite import cluster
from marius_lite.cli.main import run as run_command
from marius_lite.errors import RunError, UserError
from marius_lite.preprocess.workers import engine

ray = pytest.importorskip("ray")
CPUS = 2


@pytest.fixture(scope="module")
def session():
    """A session that all tests share: to start one takes seconds."""
    with cluster.ray_session(CPUS) as started:
        yield started


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(engine, "LEAST_SHARD", 1 << 16)
    monkeypatch.setattr(engine, "LEAST_SORTED", 1 << 14)


@pytest.fixture(scope="module")
def triples(tmp_path_factory):
    """A file of triples."""
    folder, rng = tmp_path_factory.mktemp("triples"), np.random.default_rng(0)
    rows = zip(
        rng.integers(900, size=70_000).tolist(), rng.integers(40, size=70_000).tolist(), rng.integers(900, size=70_000).tolist()
    )
    (folder / "a.tsv").write_text("".join(f"n{src}\t/relation/{rel}\tn{dst}\n" for src, rel, dst in rows))
    return folder / "a.tsv"


def dying_workers(monkeypatch, mark, survives):
    """Let the worker of the first task of each pass kill itself once it is done, before anybody hears of it."""

    class Dying(cluster.RayWorkers):
        def results(self, function, tasks):
            def call(task):
                result = function(task)
                first = mark / f"{function.__name__}"
                if task.number == 0 and not (survives and first.exists()):
                    first.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            return super().results(call, tasks)

    monkeypatch.setattr(cluster, "RayWorkers", Dying)


def test_the_bytes_of_one_process_also_where_workers_are_killed(session, small_shards, triples, tmp_path, monkeypatch):
    dying_workers(monkeypatch, tmp_path, survives=True)
    how = {"split": "0.8,0.1,0.1", "memory": "2MiB", "undirected": True}
    make(tmp_path / "one", [triples], **how)
    arguments = ["--split", "0.8,0.1,0.1", "--memory", "2MiB", "--undirected", "--engine", "ray", "--workers", "2"]
    assert run_command(["preprocess", str(triples), "--output", str(tmp_path / "several"), *arguments]) == 0
    assert data_files(tmp_path / "several") == data_files(tmp_path / "one")
    assert {path.name for path in tmp_path.iterdir()} == {"one", "several", "read_shard", "sort_shard"}


@pytest.mark.slow
def test_a_worker_that_dies_again_and_again_is_given_up(session, small_shards, triples, tmp_path, monkeypatch):
    dying_workers(monkeypatch, tmp_path, survives=False)
    monkeypatch.setattr(cluster, "RETRIES", 1)
    with pytest.raises(RunError, match="a worker died 2 times at the same part of the work"):
        make(tmp_path / "d", [triples], engine="ray")
    assert not (tmp_path / "d").exists()


def test_errors_of_workers_come_back_as_they_are(session):
    def fails(task):
        raise OSError(28, "no space", "there") if task else UserError("wrong")

    workers = cluster.RayWorkers(session, CPUS)
    with pytest.raises(UserError, match=r"^wrong$"):
        list(workers.results(fails, [0]))
    with pytest.raises(OSError, match="no space") as error:
        list(workers.results(fails, [1]))
    assert error.value.errno == 28


def test_results_are_in_order_and_no_more_are_under_way_than_workers(session):
    def slow_first(task):
        time.sleep(0.5 if task == 0 else 0)
        return task * 10

    assert list(cluster.RayWorkers(session, CPUS).results(slow_first, range(6))) == [0, 10, 20, 30, 40, 50]


@pytest.fixture(scope="module")
def dataset(triples, tmp_path_factory):
    return make(tmp_path_factory.mktemp("dataset") / "d", [triples], split="0.9,0.05,0.05", partitions=4).path


def config(epochs):
    return marius_lite.load_config(
        values={
            "model": {"decoder": "distmult", "dim": 8},
            "scale": {"ranks": 2},
            "storage": {"capacity": 2},
            "training": {"epochs": epochs, "batch_size": 2_000, "threads": 1, "scoring": "torch"},
            "negatives": {"count": 20},
        }
    )


def learned(run):
    """The rows and weights of the last checkpoint of a run, and its figures."""
    last = (run / "checkpoints" / "latest").resolve()
    return {name: data for name, data in data_files(last).items() if name.name != "state.json"}


def test_the_page_of_scale_runs_with_the_bits_of_one_process(session, dataset, tmp_path, monkeypatch):
    (tmp_path / "dataset").symlink_to(dataset)
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parent.parent / "docs" / "scale.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    exec(compile(code, "scale.md", "exec"), {})
    marius_lite.train_run(dataset, tmp_path / "one", config(3))
    assert learned(tmp_path / "run") == learned(tmp_path / "one")


def test_the_table_of_costs_is_that_of_its_script(capsys):
    root = Path(__file__).parent.parent
    runpy.run_path(root / "scripts/bench/cost_table.py", run_name="__main__")
    made = capsys.readouterr().out
    assert made.count("\n") > 3
    assert made in (root / "docs" / "scale.md").read_text()


@pytest.mark.slow
def test_a_killed_actor_ends_the_run_and_resume_goes_on(session, dataset, tmp_path, monkeypatch):
    met, meet = [], marius_lite.ray.RunActors.meet

    def noted(self, dataset, content):
        places = meet(self, dataset, content)
        met.extend(self.members)
        return places

    def kill_second():
        while not list((tmp_path / "run" / "checkpoints").glob("1.*")):
            time.sleep(0.01)
        os.kill(met[1].pid, signal.SIGKILL)

    monkeypatch.setattr(marius_lite.ray.RunActors, "meet", noted)
    killer = threading.Thread(target=kill_second)
    killer.start()
    with pytest.raises(RunError, match=r"process 1 of 2, on .*, was killed or died, so the run has ended: `marius-lite resume`"):
        marius_lite.ray.train(dataset, tmp_path / "run", config(300), processes=2)
    killer.join()
    ended = marius_lite.ray.resume(tmp_path / "run", sets=["training.epochs=3"], processes=2)
    assert ended["epochs"] >= 3
    marius_lite.train_run(dataset, tmp_path / "one", config(ended["epochs"]))
    assert learned(tmp_path / "run") == learned(tmp_path / "one")
    with pytest.raises(UserError, match="run: exists already"):  # the first process says so, the others only end
        marius_lite.ray.train(dataset, tmp_path / "run", config(2), processes=2)


def test_more_processes_than_the_cluster_has_room_for_are_refused(session, dataset, tmp_path):
    with pytest.raises(UserError, match=f"processes=9: the cluster has {CPUS} CPUs"):
        marius_lite.ray.train(dataset, tmp_path / "run", config(1), processes=9)
    with pytest.raises(UserError, match="processes=0: must be 1 or more"):
        marius_lite.ray.train(dataset, tmp_path / "run", config(1), processes=0)


def test_a_machine_without_the_dataset_is_told(dataset):
    process = marius_lite.ray.RunProcess({})
    with pytest.raises(RunError, match="another one is there: on several machines each needs the dataset, or a copy of it"):
        process.member(str(dataset), "the checksum elsewhere")
    with pytest.raises(RunError, match="there is none: on several machines"):
        process.member(str(dataset / "none"), "a folder")
    assert process.member(None, "").pid == os.getpid()


def test_without_ray_its_command_is_named(monkeypatch, dataset, tmp_path, capsys):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    assert run_command(["preprocess", "a.tsv", "--output", str(tmp_path / "d"), "--engine", "ray"]) == 2
    assert "--engine ray: needs ray, which is not installed: pip install 'marius-lite[ray]'" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"pip install 'marius-lite\[ray\]'"):
        marius_lite.ray.train(dataset, tmp_path / "run", config(1), processes=2)


def test_a_cluster_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def init(address, **_):
        raise ConnectionError(f"Could not find {address}\nmore lines")

    monkeypatch.setattr(ray, "init", init)
    wrong = pytest.raises(RunError, match=r"^Ray: no cluster answers at 10\.0\.0\.1:6379: Could not find 10\.0\.0\.1:6379$")
    with wrong, cluster.ray_session(1, "10.0.0.1:6379"):
        pass
