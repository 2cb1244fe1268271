"""Workers that take batches as they are free: each node is trained once an epoch, and all go on from a merge."""

import json
import os
import signal
import threading
import time

import pytest
import torch
from node_runs import SETTINGS, bits, lines, options
from safetensors.torch import load_file

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.estimate import plan_run
from marius_lite.graph.dataset import Dataset
from marius_lite.train.adaptive import CHANGE, SIZES, one_ahead

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

SETS = (
    "sampling.scope=auto",
    "scale.mode=adaptive",
    "scale.ranks=2",
    "scale.merge_batches=2",
    "scale.merge_momentum=0.2",
    "model.norm=batch",
    "model.dropout=0.1",
    "training.batch_size=20",
)
TWO = ("--processes", "2", "--quiet")


def weights(run):
    return load_file(run / "checkpoints" / "latest" / "dense.safetensors")


def trains_each_node_once(dataset, run, epochs):
    nodes = Dataset.open(dataset).node_counts["train"]
    for epoch in range(epochs):
        batches = [line for line in lines(run, "batch") if line["epoch"] == epoch]
        at = sorted((line["batch"], line["edges"]) for line in batches)
        assert [first for first, _ in at] == [sum(size for _, size in at[:place]) for place in range(len(at))]
        assert sum(size for _, size in at) == nodes
    return nodes


def test_two_workers_learn_and_say_that_another_run_would_differ(cli, communities, forked_processes, capfd, tmp_path):
    run = tmp_path / "run"
    sets = options(*SETS, "scale.merge=ring", "scale.merge_bits=8", "training.epochs=6")
    assert cli("train", communities, "--run", run, *sets, "--processes", "2") == 0
    assert "the run is not deterministic" in capfd.readouterr().err
    nodes = trains_each_node_once(communities, run, 6)
    merges = lines(run, "merge")
    assert all(line["deterministic"] is False for line in merges)
    assert sum(sum(line["machine"]["nodes"]) for line in merges) == 6 * nodes
    assert sum(sum(line["machine"]["updates"]) for line in merges) == len(lines(run, "batch"))
    assert lines(run, "evaluation")[-1]["accuracy"] > 0.5
    assert lines(run, "epoch")[0]["machine"]["meet_bytes"] > 0
    saved = weights(run)
    assert {name for name in saved if name.startswith("worker.")} == {
        f"worker.1.{name}" for name in saved if name.startswith("optimizer.")
    }
    assert saved[SIZES].tolist() != []
    assert saved[CHANGE].any()
    assert cli("info", run, "--json") == 0
    assert json.loads(capfd.readouterr().out)["deterministic"] is False


def test_a_run_that_is_stopped_goes_on_from_a_merge(cli, communities, forked_processes, tmp_path):
    run, more = tmp_path / "run", ("training.epochs=200", "evaluation.every_epochs=100")

    def stop():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not (run / "metrics.jsonl").exists() or len(lines(run, "batch")) < 30):
            time.sleep(0.05)
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGTERM)

    stopping, over = threading.Thread(target=stop), threading.Event()
    stopping.start()
    code = cli("train", communities, "--run", run, *options(*SETS, *more), *TWO)
    over.set()
    stopping.join()
    assert code == 143
    stopped = json.loads((run / "checkpoints" / "latest" / "state.json").read_text())
    assert stopped["cursor"]["epoch"] < 200
    before = weights(run)
    left = stopped["cursor"]["epoch"] + 2
    assert cli("resume", run, "--quiet") == 2, "one process is not two workers"
    assert cli("resume", run, *TWO, "--set", f"training.epochs={left}") == 0
    trains_each_node_once(communities, run, left)
    after = weights(run)
    assert before.keys() == after.keys()
    assert all(torch.isfinite(each).all() for each in after.values())
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert cli("eval", run, "--json") == 0


def test_one_worker_alone_of_two_is_refused(cli, communities, capfd, tmp_path):
    assert cli("train", communities, "--run", tmp_path / "run", *options(*SETS)) == 2
    assert "give `--processes 2`" in capfd.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["storage.capacity=2"], "the features do not fit in the memory of a process"),
        (["storage.capacity=2", "sampling.scope=exact"], "the features do not fit in the memory of a process"),
        (["model.inputs=both"], "nodes have learned rows"),
    ],
)
def test_what_workers_do_not_have(sets, told, communities):
    with pytest.raises(UserError, match=told):
        plan_run(communities, load(sets=[*SETTINGS, *SETS, *sets]))


def test_a_plan_counts_the_largest_batch_of_a_worker(communities):
    lanes, adaptive = (
        plan_run(communities, load(sets=[*SETTINGS, *SETS[:1], *SETS[2:3], f"scale.mode={mode}"]))
        for mode in ("lanes", "adaptive")
    )
    assert (lanes["steps"], adaptive["steps"]) == (2, 1)
    assert adaptive["memory"]["workspace"] > lanes["memory"]["workspace"]


def test_no_more_than_one_batch_is_taken_ahead():
    taken = []

    def batches():
        for each in range(5):
            taken.append(each)
            yield each

    for number, (batch, ids) in enumerate(one_ahead(batches(), lambda batch: 10 * batch, lambda: False)):
        time.sleep(0.02)
        assert (batch, ids) == (number, 10 * number)
        assert len(taken) <= number + 2
    with pytest.raises(ZeroDivisionError):
        list(one_ahead([1, 0], lambda batch: 1 // batch, lambda: False))


def test_lanes_in_few_bits_are_the_same_in_any_number_of_processes(cli, communities, forked_processes, tmp_path):
    sets = ("sampling.scope=auto", "scale.ranks=2", "scale.merge_bits=8", "training.epochs=2", "model.norm=batch")
    found = []
    for processes in ("1", "2"):
        run = tmp_path / processes
        assert cli("train", communities, "--run", run, "--quiet", *options(*sets), "--processes", processes) == 0
        found.append(bits(run))
    assert found[0] == found[1]
