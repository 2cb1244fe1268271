"""Trials in processes of their own: they train, they are told to stop, they fail in one line, and they die with the search."""

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc

import pytest

from marius_lite.config.load import load
from marius_lite.tune import trial
from marius_lite.tune.search import tune_dataset
from marius_lite.tune.trial import Job, Outcome, forget, outcome, start

pytest.importorskip("optuna", reason="tune needs the extra `tune`")
SETS = ["model.dim=8", "training.batch_size=200", "negatives.count=20", "training.threads=1"]


def job(dataset, tmp_path, *sets):
    (tmp_path / "runs").mkdir(exist_ok=True)
    return Job(dataset, tmp_path / "runs" / "1-0", load("preset:plain", [*SETS, *sets]))


def test_a_trial_trains_stops_goes_on_and_fails(tiny_dataset, tmp_path):
    endless = job(tiny_dataset, tmp_path, "training.epochs=100000", "checkpoint.every_epochs=1")
    process = start(endless)
    metrics = endless.run / "metrics.jsonl"
    while not (metrics.exists() and b"evaluation" in metrics.read_bytes()):
        time.sleep(0.02)
        assert process.is_alive()
    process.terminate()
    process.join()
    assert process.exitcode == 128 + signal.SIGTERM
    stopped = outcome(endless, "mrr")
    assert stopped.error is None
    assert 0 < stopped.value < 1
    assert stopped.epochs >= 1
    forget(endless.run)
    assert not list((tmp_path / "runs").iterdir())
    wrong = job(tiny_dataset, tmp_path, "storage.capacity=9")
    process = start(wrong)
    process.join()
    assert process.exitcode == 1
    assert outcome(wrong, "mrr") == Outcome(None, 0, outcome(wrong, "mrr").error)
    assert "the dataset has 4 partitions" in outcome(wrong, "mrr").error


def test_ctrl_c_does_not_reach_what_starts_trials(monkeypatch, tmp_path):
    """It would end the imports of the server of processes with a traceback."""
    blocked = []

    class Started:
        def start(self):
            blocked.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))

    monkeypatch.setattr(trial.CONTEXT, "Process", lambda **_: Started())
    start(job(tmp_path, tmp_path))
    assert blocked == [True]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_what_came_of_a_trial_takes_no_memory_for_each_batch(tmp_path):
    found = job(tmp_path, tmp_path)
    found.run.mkdir()
    with open(found.run / "metrics.jsonl", "w") as file:
        for epoch in range(3):
            file.writelines(f'{{"kind":"batch","epoch":{epoch},"batch":{batch},"loss":0.5}}\n' for batch in range(5000))
            file.write(f'{{"kind":"epoch","epoch":{epoch}}}\n{{"kind":"evaluation","mrr":{[0.1, 0.3, 0.2][epoch]}}}\n')
    tracemalloc.start()
    assert outcome(found, "mrr") == Outcome(0.3, 3)
    assert tracemalloc.get_traced_memory()[1] < 300_000
    tracemalloc.stop()


@pytest.mark.slow
def test_a_killed_search_leaves_no_process_and_goes_on_to_the_same(tiny_dataset, tmp_path):
    given = {
        "trials": 3,
        "rounds": 2,
        "reduction": 2,
        "file": "preset:plain",
        "sets": (*SETS[:1], "training.threads=1", "training.epochs=40", "checkpoint.every_epochs=1", "training.scoring=torch"),
    }
    tune_dataset(tiny_dataset, tmp_path / "whole", **given)
    code = (
        "import json, sys; from marius_lite.tune.search import tune_dataset\n"
        "if __name__ == '__main__': tune_dataset(sys.argv[1], sys.argv[2], **json.loads(sys.argv[3]))"
    )
    search = [sys.executable, "-c", code, str(tiny_dataset), str(tmp_path / "killed"), json.dumps(given)]
    for after in (3, 12):
        process = subprocess.Popen(search)
        while not any(
            b'"epoch"' in path.read_bytes() and path.read_bytes().count(b'"epoch",') >= after
            for path in (tmp_path / "killed").glob("runs/*/metrics.jsonl")
        ):
            time.sleep(0.05)
            if process.poll() is not None:
                break
        process.kill()
        process.wait()
    time.sleep(2)
    mine = [pid for pid in os.listdir("/proc") if pid.isdigit() and _of(pid, str(tmp_path))]
    assert mine == []
    tune_dataset(tiny_dataset, tmp_path / "killed", **given)
    assert _figures(tmp_path / "killed") == _figures(tmp_path / "whole")


def _of(pid, folder):
    try:
        return any(folder in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")) and pid != str(
            os.getpid()
        )
    except OSError:
        return False


def _figures(folder):
    lines = (folder / "trials.csv").read_text().splitlines()
    seconds = lines[0].split(",").index("seconds")
    return [[cell for place, cell in enumerate(line.split(",")) if place != seconds] for line in lines]
