"""Train a run in several processes that Ray starts, on this machine or on a cluster. Needs `pip install 'marius-lite[ray]'`.

    import marius_lite.ray

    marius_lite.ray.train("dataset", "run", config, processes=4)                         # on this machine
    marius_lite.ray.train("/shared/dataset", "/shared/run", config, processes=4, address="auto")

Each process is an actor, which does what a process of `marius-lite train --processes N` does: it trains some of the run's lanes,
with the same bits. They talk to each other by torch.distributed (gloo). Ray only starts and watches them.
"""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marius_lite.cluster import ray_session, require_ray, this_node
from marius_lite.config.schema import Config
from marius_lite.errors import EndedElsewhere, MariusError, RunError, UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.log import log
from marius_lite.machine_process import ADDRESS, COUNT, PORT, RANK, speaks
from marius_lite.train.run import resume_run, train_run

LAST_WORDS = 15.0
"""Seconds in which the others may end by themselves once one process has failed."""
STOPPED = 300.0
"""Seconds in which processes that are told to stop may finish a turn and write a checkpoint."""
LOOPBACK = "127.0.0.1"
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that libraries read when they are loaded. Ray sets them for its processes."""
Call = Callable[[], dict[str, Any]]


def train(
    dataset: Path | str,
    run: Path | str,
    config: Config | Callable[[Dataset], Config] | None = None,
    *,
    processes: int,
    address: str | None = None,
    warm: Path | str | None = None,
    tensorboard: bool = False,
) -> dict[str, Any]:
    """Train as `train_run` does, in so many ``processes``, at most one for each of the lanes of ``scale.ranks``. Returns a
    summary.

    ``address``: of a Ray cluster, or ``auto`` for the one of this machine; None: the one at RAY_ADDRESS, else processes of this
    machine. Where the program has begun a session of Ray, that is taken. On several machines all need ``dataset``, or a copy of
    it, under the same name. The run is where the first process is, or in a folder that all see. Ctrl-C lets the run stop with a
    checkpoint.

    Raises what `train_run` raises; RunError where a process dies. `resume` and `marius-lite resume` then go on with the run.
    """
    data, folder = _absolute(dataset), _absolute(run)
    before = None if warm is None else _absolute(warm)
    return _in_actors(lambda: train_run(data, folder, config, before, tensorboard), processes, address, data)


def resume(
    run: Path | str,
    checkpoint: str | None = None,
    sets: Sequence[str] = (),
    *,
    processes: int,
    address: str | None = None,
    dataset: Path | str | None = None,
    tensorboard: bool = False,
) -> dict[str, Any]:
    """Continue a run as `resume_run` does, in so many ``processes``, whatever their number was before. See `train`."""
    folder, moved = _absolute(run), None if dataset is None else _absolute(dataset)
    return _in_actors(lambda: resume_run(folder, checkpoint, sets, moved, tensorboard), processes, address, moved)


@dataclass(frozen=True)
class Ended:
    """How a process has ended: with the summary of the run, or an error."""

    summary: dict[str, Any] | None = None
    error: MariusError | None = None


@dataclass(frozen=True)
class Member:
    """Where an actor runs."""

    host: str
    node: str
    address: str
    pid: int


class RunProcess:
    """One process of a run, an actor. ``environment``: the variables `THREADS` of the program that starts it."""

    def __init__(self, environment: dict[str, str]):
        for name in THREADS:  # torch is not loaded yet
            os.environ.pop(name, None)
        os.environ.update(environment)

    def member(self, dataset: str | None, content: str) -> Member:
        """Return where this process runs. ``content``: of the ``dataset`` that it is to have. Raises RunError for another one."""
        if dataset is not None and (found := _content(Path(dataset))) != content:
            what = "another one is there" if found else "there is none"
            raise RunError(
                f"{socket.gethostname()}: {dataset}: {what}: on several machines each needs the dataset, or a copy of it, under "
                "the same name"
            )
        return Member(socket.gethostname(), *this_node(), os.getpid())

    def free_port(self) -> int:
        """Return a port that is free on this machine."""
        with socket.socket() as probe:
            probe.bind(("", 0))
            return int(probe.getsockname()[1])

    def run(self, call: Call, environment: dict[str, str]) -> Ended:
        """Do what each process of the run does."""
        os.environ.update(environment)
        if not speaks():
            log.setLevel(logging.ERROR)
        try:
            return Ended(summary=call())
        except MariusError as error:
            return Ended(error=error)


@dataclass
class RunActors:
    """The actors of a run, in order, and where they are."""

    ray: Any
    actors: list[Any]
    members: list[Member] = field(default_factory=list)

    def meet(self, dataset: str | None, content: str) -> dict[str, str]:
        """Wait until all have started, and see the dataset. Returns the variables by which they find each other."""
        self.members = self.ray.get([actor.member.remote(dataset, content) for actor in self.actors])
        here = len({member.node for member in self.members}) == 1
        places = {COUNT: str(len(self.actors)), PORT: str(self.ray.get(self.actors[0].free_port.remote()))}
        if here:
            return {**places, ADDRESS: LOOPBACK, "GLOO_SOCKET_IFNAME": "lo"}
        return {**places, ADDRESS: self.members[0].address}

    def stop(self) -> None:
        """Tell each process to stop, as by a signal: an actor that works answers no call."""
        strategies = self.ray.util.scheduling_strategies
        for member in self.members:
            there = strategies.NodeAffinitySchedulingStrategy(member.node, soft=False)
            self.ray.get(self.ray.remote(num_cpus=0, scheduling_strategy=there)(_tell_to_stop).remote(member.pid))

    def kill(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)


def _tell_to_stop(pid: int) -> None:
    """Tell a process of this machine to stop. (Ray takes functions of Python only.)"""
    os.kill(pid, signal.SIGTERM)


def _in_actors(call: Call, processes: int, address: str | None, dataset: str | None) -> dict[str, Any]:
    """Run ``call`` in so many actors, which train together. Returns what the first one returns. ``dataset``: one that each has to
    have, None where the run says which."""
    require_ray("marius_lite.ray")
    if processes < 1:
        raise UserError(f"processes={processes}: must be 1 or more")
    seen = None if dataset is None or "://" in dataset else dataset
    content = "" if seen is None else _content(Path(seen))
    environment = {name: os.environ[name] for name in THREADS if name in os.environ}
    with ray_session(processes, address, tells=True) as ray:
        room = int(ray.cluster_resources().get("CPU", 0))
        if processes > room:
            raise UserError(f"processes={processes}: the cluster has {room} CPUs, and each process takes one: start fewer")
        actor = ray.remote(num_cpus=1, scheduling_strategy="SPREAD", max_restarts=0)(RunProcess)
        group = RunActors(ray, [actor.remote(environment) for _ in range(processes)])
        try:
            meeting = group.meet(seen, content)
            under_way = {each.run.remote(call, {**meeting, RANK: str(rank)}): rank for rank, each in enumerate(group.actors)}
            try:
                return _summary(_ended(ray, under_way, LAST_WORDS), group)
            except KeyboardInterrupt:
                group.stop()
                return _summary(_ended(ray, under_way, STOPPED), group)
        except ray.exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None)
            raise cause if isinstance(cause, MariusError) else error from None
        finally:
            group.kill()


def _ended(ray: Any, under_way: dict[Any, int], patience: float) -> dict[int, Ended | None]:
    """Wait for all processes to end, or for one to fail and the others to follow within ``patience`` seconds.

    Returns how each that has ended did so, in the order in which they ended; None for one that died.
    """
    ended: dict[int, Ended | None] = {}
    left = list(under_way)
    deadline: float | None = None
    while left and (deadline is None or time.monotonic() < deadline):
        done, left = ray.wait(left, num_returns=1, timeout=1.0)
        for reference in done:
            try:
                ended[under_way[reference]] = ray.get(reference)
            except ray.exceptions.RayActorError:
                ended[under_way[reference]] = None
        failed = any(each is None or each.error for each in ended.values())
        if failed and deadline is None:
            deadline = time.monotonic() + patience
    return ended


def _summary(ended: dict[int, Ended | None], group: RunActors) -> dict[str, Any]:
    """Return the summary of a run. Raises the error of the process that failed first, whose end the others only follow."""
    count = len(group.actors)
    for rank, how in ended.items():
        if how is None:
            raise RunError(
                f"process {rank} of {count}, on {group.members[rank].host}, was killed or died, so the run has ended: "
                "`marius-lite resume` goes on from its last checkpoint"
            )
    errors = [how.error for how in ended.values() if how and how.error]
    if errors:
        raise next((error for error in errors if not isinstance(error, EndedElsewhere)), errors[0])
    first = ended[0]
    assert first is not None
    assert first.summary is not None
    return first.summary


def _content(place: Path) -> str:
    """Return what tells a folder from another of the same name; empty where there is none."""
    if not place.is_dir():
        return ""
    metadata = place / "zarr.json"
    return hashlib.sha256(metadata.read_bytes()).hexdigest() if metadata.exists() else "a folder"


def _absolute(path: Path | str) -> str:
    return str(path) if "://" in str(path) else str(Path(path).absolute())
