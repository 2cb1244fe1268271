"""The disk that is planned, against what files take; and what happens where there is less."""

import gzip
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from preprocess_tools import data_files, make

from marius_lite import files
from marius_lite.errors import RunError, UserError
from marius_lite.preprocess import disk_plan, repartition_dataset
from marius_lite.preprocess.disk.passes import Passes
from marius_lite.preprocess.disk_plan import DiskPlan
from marius_lite.preprocess.repartitioning.edges import EdgeRepartition

ROWS, NODES = 1_000_000, 125_000
MANY = {"undirected": True, "split": "0.8,0.1,0.1", "partitions": 64, "memory": "16MB", "adjacency": "in"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("inputs"), np.random.default_rng(0)
    ends, large = rng.integers(0, NODES, (ROWS, 2)), rng.integers(0, 2**62, NODES)
    np.save(folder / "dense.npy", ends)
    np.save(folder / "sparse.npy", large[ends])
    names = pa.array([f"user:{number:x}" for number in large.tolist()])
    table = pa.table([names.take(pa.array(column)) for column in ends.T], ["s", "d"])
    pyarrow.csv.write_csv(
        table, folder / "strings.tsv", pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    )
    return folder


class Watch:
    """What the files under a folder take at most, in all and by pass; and the plans that were made."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.most, self.plans, self._pass, self._over = folder, {}, [], "", threading.Event()
        remove, once, init = files.remove_tree, Passes.once, DiskPlan.__init__

        def look_once(passes, name, *rest):
            outer, self._pass = self._pass, name
            result = once(passes, name, *rest)
            self.look()
            self._pass = outer
            return result

        monkeypatch.setattr(files, "remove_tree", lambda path: (self.look(), remove(path)))
        monkeypatch.setattr(Passes, "once", look_once)
        monkeypatch.setattr(DiskPlan, "__init__", lambda plan, *a, **k: (init(plan, *a, **k), self.plans.append(plan))[0])

    def look(self):
        name = self._pass
        self.most[name] = max(self.most.get(name, 0), disk_plan.used_bytes(self.folder))

    def _poll(self):
        while not self._over.wait(0.005):
            try:
                self.look()
            except OSError:  # a folder that goes meanwhile
                time.sleep(0.001)

    def __enter__(self):
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


@pytest.mark.parametrize("options", [{}, {"memory": "32MB", "adjacency": "in"}, MANY], ids=["in memory", "lists", "runs"])
@pytest.mark.parametrize("file", ["dense.npy", "sparse.npy", "strings.tsv"])
def test_the_plan_is_no_less_and_at_most_twice_as_much(inputs, tmp_path, monkeypatch, file, options):
    with Watch(tmp_path / ".d.tmp", monkeypatch) as watch:
        make(tmp_path / "d", inputs / file, **options)
    least, before, after = watch.plans
    peak = max(watch.most.values())
    assert least.most <= peak <= after.most <= before.most
    assert after.most <= 2 * peak
    planned = after.passes()
    assert all(taken <= planned[name] for name, taken in watch.most.items() if name in planned)
    assert len(watch.most.keys() & planned.keys()) >= 6


@pytest.mark.parametrize(("partitioner", "classes"), [("random", ()), ("locality", ()), ("random", (90,))])
def test_what_is_given_about_nodes_is_counted(tmp_path, monkeypatch, partitioner, classes):
    rng, nodes = np.random.default_rng(1), 20_000
    np.save(tmp_path / "e.npy", rng.integers(0, nodes, (200_000, 2)))
    np.save(tmp_path / "x.npy", rng.normal(size=(nodes, 50)).astype(np.float32))
    np.save(tmp_path / "y.npy", rng.integers(0, 2 if classes else 9, (nodes, *classes)))
    with Watch(tmp_path / ".d.tmp", monkeypatch) as watch:
        make(
            tmp_path / "d",
            tmp_path / "e.npy",
            features=tmp_path / "x.npy",
            labels=tmp_path / "y.npy",
            partitions=8,
            node_split="0.5,0.2,0.3",
            memory="3MB",
            partitioner=partitioner,
        )
    planned, peak = watch.plans[-1].passes(), max(watch.most.values())
    assert peak <= watch.plans[-1].most <= 2 * peak
    assert all(taken <= planned[name] for name, taken in watch.most.items() if name in planned)


def test_what_repartition_needs(inputs, tmp_path, monkeypatch):
    make(tmp_path / "d", inputs / "dense.npy", **MANY)
    asked, require = [], files.require_space
    monkeypatch.setattr(files, "require_space", lambda path, needed, _: (asked.append(needed), require(path, needed, "this")))
    with Watch(tmp_path / ".r.tmp", monkeypatch) as watch:
        repartition_dataset(tmp_path / "d", tmp_path / "r", 512, memory="10MB")
    peak = max(watch.most.values())
    assert peak <= asked[0] <= 2 * peak


def test_less_than_is_needed_for_sure_is_refused_before_reading(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr("marius_lite.files.free_bytes", lambda _: 19_000_000)
    with pytest.raises(UserError, match=r"d: preprocessing 1,000,000 edges needs 20.\d\d MB, 19.00 MB are free"):
        make(tmp_path / "d", inputs / "dense.npy")
    assert list(tmp_path.iterdir()) == []


def test_short_lines_at_the_beginning_refuse_nothing(tmp_path, monkeypatch, caplog):
    """As many rows as the first lines promise would not fit: before a refusal they are counted."""
    caplog.set_level("INFO", "marius_lite")
    names = tmp_path / "e.tsv", tmp_path / "e.tsv.gz"
    noise = np.random.default_rng(0).bytes(30_000 * 200).hex()
    long = "".join(f"c\td\t{noise[at : at + 400]}\n" for at in range(0, len(noise), 400))
    names[0].write_text("a\tb\t0\n" * 300_000 + long)
    names[1].write_bytes(gzip.compress(names[0].read_bytes(), 1))
    expected = []
    for number, name in enumerate(names):
        caplog.clear()
        monkeypatch.setattr("marius_lite.files.free_bytes", lambda _: 10**7)
        make(tmp_path / str(number), name, columns="src,dst,_").verify()
        expected.append(int(caplog.text.split("about ")[1].split()[0].replace(",", "")))
        monkeypatch.setattr("marius_lite.files.free_bytes", lambda _: 6_000_000)
        with pytest.raises(UserError, match=r"preprocessing 330,000 edges needs 6.60 MB, 6.00 MB are free"):
            make(tmp_path / "none", name, columns="src,dst,_")
    assert expected[0] < 1_000_000  # from samples of all of the file


@pytest.mark.parametrize("name", ["e.npy", "e.tsv"])
def test_self_loops_that_are_dropped_take_no_disk(tmp_path, monkeypatch, name):
    ends = np.zeros((400_000, 2), np.int64)
    ends[:50_000, 1] = 1
    np.save(tmp_path / "e.npy", ends)
    np.savetxt(tmp_path / "e.tsv", ends, "%d", delimiter="\t")
    monkeypatch.setattr("marius_lite.files.free_bytes", lambda _: 2_000_000)
    assert make(tmp_path / "d", tmp_path / name, drop_self_loops=True).edges("train").total == 50_000
    with pytest.raises(UserError, match=r"preprocessing 400,000 edges needs"):
        make(tmp_path / "e", tmp_path / name)


def test_lists_are_counted(inputs, tmp_path, monkeypatch):
    plans = {}
    for adjacency in ("none", "in"):
        with Watch(tmp_path / f".{adjacency}.tmp", monkeypatch) as watch:
            make(tmp_path / adjacency, inputs / "dense.npy", adjacency=adjacency)
        plans[adjacency] = watch.plans[-1].passes()["adjacency"]
    assert plans["in"] - plans["none"] >= 4 * ROWS + 8 * NODES


def little_free_inside(monkeypatch, temporary):
    """Nothing is known to be wrong until ``temporary`` holds something."""
    monkeypatch.setattr("marius_lite.files.free_bytes", lambda path: 1000 if path == temporary else 10**12)


def test_too_little_found_once_nodes_are_known_keeps_what_is_done(inputs, tmp_path, monkeypatch, cli, capfd):
    command = ["preprocess", inputs / "dense.npy", "--output", tmp_path / "d"]
    little_free_inside(monkeypatch, tmp_path / ".d.tmp")
    assert cli(*command) == 1
    last = capfd.readouterr().err.splitlines()[-1]
    assert last.startswith(f"marius-lite: {tmp_path / 'd'}: preprocessing 1,000,000 edges of 125,000 nodes needs")
    assert "MB more of disk, 1.00 KB are free: make room for " in last
    assert last.endswith("then the same command goes on")
    monkeypatch.undo()
    assert cli(*command) == 0
    assert "going on after pass 'number'" in capfd.readouterr().err
    make(tmp_path / "whole", inputs / "dense.npy")
    assert data_files(tmp_path / "d") == data_files(tmp_path / "whole")


def test_too_little_while_going_on_with_a_repartition(inputs, tmp_path, monkeypatch, caplog):
    make(tmp_path / "d", inputs / "dense.npy", partitions=2)
    with monkeypatch.context() as patch:
        patch.setattr(EdgeRepartition, "sort_and_write", lambda _: (_ for _ in ()).throw(RunError("stopped")))
        with pytest.raises(RunError, match="stopped"):
            repartition_dataset(tmp_path / "d", tmp_path / "r", 3)
    with monkeypatch.context() as patch:
        little_free_inside(patch, tmp_path / ".r.tmp")
        with pytest.raises(RunError, match=r"r: repartitioning 1,000,000 edges needs .* more of disk, 1.00 KB are free: make"):
            repartition_dataset(tmp_path / "d", tmp_path / "r", 3)
    caplog.set_level("INFO", "marius_lite")
    repartition_dataset(tmp_path / "d", tmp_path / "r", 3).verify()
    assert "going on after pass 'tables'" in caplog.text
