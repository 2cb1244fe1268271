"""Whole runs as the tests see them: a command under way, and what a run amounts to at its end."""

import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp

CONFIG = {
    "model": {"dim": 8},
    "training": {"epochs": 2, "batch_size": 50, "threads": 1},
    "negatives": {"count": 20, "chunks": 2},
    "storage": {"capacity": 3, "io_threads": 2},
    "checkpoint": {"every_minutes": 0.001},
    "evaluation": {"max_edges": 60, "every_epochs": 1},
}
EACH_BATCH = ["--set", "checkpoint.every_minutes=1e-9", "--set", "training.batch_size=700"]
IN_LITTLE = ["--partitions", "6", "--split", "0.9,0.1,0", "--adjacency", "in", "--memory", "1MiB"]
"""Options of a preprocess that has so little memory that there are sorted runs on disk."""


class Running:
    """A command under way."""

    def __init__(self, address: str, request: dict):
        self._output = Path(request["output"])
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(address)
        self._stream = self._connection.makefile("rw")
        self._stream.write(json.dumps(request) + "\n")
        self._stream.flush()
        self.pid = int(self._stream.readline())

    def send(self, signum: int) -> None:
        os.kill(self.pid, signum)

    def wait(self) -> tuple[int, str]:
        """(exit code, or -N after signal N; everything it printed)."""
        self._connection.settimeout(60)
        status = int(self._stream.readline())
        self._stream.close()
        self._connection.close()
        return os.waitstatus_to_exitcode(status), self._output.read_text()

    def over_within(self, seconds: float) -> bool:
        self._connection.settimeout(seconds)
        try:
            return bool(self._connection.recv(1, socket.MSG_PEEK))
        except (TimeoutError, BlockingIOError):  # the latter where there is no time to wait
            return False


@dataclass(frozen=True)
class Program:
    address: str
    dataset: Path
    config: Path

    def start(self, *arguments: str | Path, **faults: str) -> Running:
        """Begin a command; ``faults`` as in tests/native/faults.c, without FAULT_."""
        descriptor, output = mkstemp(dir=Path(self.address).parent, suffix=".out")
        os.close(descriptor)
        return Running(self.address, {"arguments": [str(a) for a in arguments], "faults": faults, "output": output})

    def train(self, run: Path, *more: str, **faults: str) -> tuple[int, str]:
        return self.start(*self.training(run, *more), **faults).wait()

    def training(self, run: Path, *more: str) -> list:
        return ["train", self.dataset, "--run", run, "--config", self.config, *more]

    def resume(self, run: Path, *more: str, **faults: str) -> tuple[int, str]:
        return self.start("resume", run, *more, **faults).wait()

    def going_on(self, run: Path, *more: str) -> list:
        """What one types after a crash: resume, or train again where the crash left no run."""
        return ["resume", run] if (run / "config.yaml").exists() else self.training(run, *more)

    def finish(self, run: Path, *more: str) -> dict:
        """Go on to the end; what the run amounts to."""
        code, told = self.start(*self.going_on(run, *more)).wait()
        assert code == 0, told
        return outcome(run)


def outcome(run: Path) -> dict:
    """Everything of a finished run that must not depend on what happened to it."""
    last = run / "checkpoints" / "latest"
    state = json.loads((last / "state.json").read_bytes())
    del state["metrics_length"], state["checksum"]  # times are written with as many digits as they need
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    places = [(line["kind"], line["epoch"], line["step"], line["batch"]) for line in lines if line["kind"] != "timeline"]
    assert len(places) == len(set(places)), "a place stands twice in metrics.jsonl"
    assert rows(run / "live") == rows(last)
    hidden = [path.name for path in (run / "checkpoints").iterdir() if path.name.endswith(".tmp")]
    assert not hidden, hidden
    return {
        "rows": rows(last),
        "dense": (last / "dense.safetensors").read_bytes(),
        "state": state,
        "best": os.readlink(run / "checkpoints" / "best"),
        "metrics": [
            {key: value for key, value in line.items() if key not in ("time", "machine")}
            for line in lines
            if line["kind"] != "timeline"
        ],
        "evaluations": {path.name: path.read_text() for path in (run / "eval").glob("*.json")},
    }


def rows(group: Path) -> dict[str, bytes]:
    """Every chunk file of a live folder or a checkpoint."""
    files = {path.parent.name: path.read_bytes() for path in group.glob("nodes/c/*/0")}
    assert len(files) == (6 if (group / "nodes").exists() else 0)  # features alone: no rows are learned
    return files


def differences(found: dict, expected: dict) -> list[str]:
    """Which parts of two outcomes differ, in few words."""
    return [
        f"{part}: {_told(found[part])} instead of {_told(expected[part])}" for part in expected if found[part] != expected[part]
    ]


def _told(part: object) -> str:
    if isinstance(part, dict):
        return str({key: hash(str(value)) % 1000 for key, value in sorted(part.items())})
    if isinstance(part, list):
        return f"{len(part)} lines, the last {part[-1]}"
    return repr(part)[:100]


def error_in(told):
    """The one line that says what went wrong, after what the run said of itself."""
    *before, error = told.splitlines()
    assert all(line.startswith(("training on ", "going on from checkpoint ", "epoch ")) for line in before), told
    assert error.startswith("marius-lite: "), told
    return error
