"""Runs in object storage, and what they amount to."""

import os
import shutil
import signal
from pathlib import Path

from bucket_server import environment, proxy
from link_runs import amounts_to

from marius_lite.checkpoint.describe import describe_run
from marius_lite.remote.address import address_of
from marius_lite.remote.run import PublishedRun, _read_pointer, _read_tree
from marius_lite.remote.store import ObjectStore

SETTINGS = [
    *("--set", "training.epochs=2", "--set", "model.dim=8", "--set", "storage.capacity=2", "--set", "storage.memory=200MB"),
    *("--set", "training.scoring=torch", "--set", "training.threads=1", "--set", "checkpoint.every_minutes=0.001"),
]
SHORT = [*SETTINGS, "--set", "training.epochs=1", "--set", "checkpoint.every_minutes=10"]


def told(run):
    """What a run amounts to, but for lines about this machine."""
    lines, dense, rows = amounts_to(run)
    return [line for line in lines if line[0] != "timeline"], dense, rows


def fetched(address):
    """What the run at an address amounts to, fetched to a machine that has nothing of it."""
    shutil.rmtree(os.environ["MARIUS_LITE_CACHE"], ignore_errors=True)
    assert describe_run(Path(address), verify=True)["verified"]
    return told(PublishedRun(address_of(address)).folder)


def require_whole(address):
    """Raise where a part of what the pointer names is missing or wrong. Nothing may be there yet."""
    there = ObjectStore(address_of(address))
    if there.get("run.json", 1 << 20) is None:
        return
    tree = _read_tree(there, _read_pointer(there)[0])
    assert tree.objects <= set(there.listed("objects"))


def ends_in_one_line(captured, *names):
    """Whether the last line of an error names what is wrong, and no other line is a traceback."""
    lines = [line for line in captured.splitlines() if line.startswith("marius-lite: ")]
    return len(lines) == 1 and all(name in lines[0] for name in names) and "Traceback" not in captured


def killed_at(forked, number, bucket, object_server, tiny_dataset, forwarded, settings):
    """Train in a fork that is killed when it makes the request of this ``number``. Whether it was."""
    with proxy(object_server) as server:
        process = forked(
            ["train", str(tiny_dataset), "--run", f"{bucket}/run", *settings, "-q"],
            env={"MARIUS_LITE_CACHE": os.environ["MARIUS_LITE_CACHE"], **environment(server.endpoint)},
        )

        def fault(count, *_):
            if count >= number:
                process.send_signal(signal.SIGKILL)
            return None if count < number or (forwarded and count == number) else "drops"

        server.fault = fault
        return process.wait() == -signal.SIGKILL
