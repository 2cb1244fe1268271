"""The processes of a run on one machine or several, which talk by torch.distributed (gloo).

`torchrun`, or `marius-lite train --processes`, starts them and says in the environment which one each is. A thread of each shows
the others that it is alive. So a process that stands still ends all, and is named.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from marius_lite.errors import EndedElsewhere, RunError, UserError
from marius_lite.machine_process import MachineProcess
from marius_lite.processes.touched_rows import TouchedRows

T = TypeVar("T")

BEAT, SILENT = 2.0, 30.0
"""Seconds between two signs of life, and without one after which a process counts as standing still."""
BEGUN = "begun"
"""The key that says in a launch's store that its run has a folder."""
LEAVE = 5.0
"""Seconds to wait for a thread that asks the store something while the process ends."""
CALL = timedelta(seconds=60)
"""Time for what another process, or the store that all share, answers at once."""
WHOLE_RUN = timedelta(days=100)
"""Time for what others may wait for: an evaluation, for example. Whether they are alive is seen in another way."""


class ProcessGroup:
    """See `processes.one_process.Processes`. ``place``: which of how many processes this one is.

    Raises RunError where the others do not come, and, from all calls, where one of them has ended.
    """

    def __init__(self, place: MachineProcess):
        self._place, self.is_first, self.rank = place, place.rank == 0, place.rank
        self._seconds, self._bytes, self._moved = 0.0, 0, 0
        self._rows: TouchedRows | None = None
        try:
            store = _store(place, is_host=self.is_first and not place.has_store)
            dist.init_process_group("gloo", store=store, rank=place.rank, world_size=place.count, timeout=CALL)
            self._launch = _store(place, is_host=False, of="launch") if place.has_store else None
            self.has_begun = bool(place.restarts and self._launch and self._launch.check([BEGUN]))
            self._group: Any = dist.new_group(backend="gloo", timeout=WHOLE_RUN)
            self._claims = _store(place, is_host=False)
            self._alive = SignsOfLife(place)
        except (RuntimeError, ValueError) as error:
            raise RunError(
                f"process {place.rank} of {place.count}: the others do not answer at {place.address}:{place.port}: {_line(error)}"
            ) from error

    def lanes(self, count: int) -> range:
        return MachineProcess.lanes_of(count, self._place.rank, self._place.count)

    def vectors(self, mine: Sequence[Tensor], lanes: int, width: int) -> list[Tensor]:
        if self._rows is None:
            self._rows = TouchedRows(len(mine[0]), width)
        return self._rows.exchanged(mine, lambda sent: self._of_all_lanes(sent, lanes))

    def _of_all_lanes(self, mine: Sequence[Tensor], lanes: int) -> list[Tensor]:
        """Return the vectors of all lanes, in order. ``mine``: those of this process's, of the same size in all."""
        slots = -(-lanes // self._place.count)
        given = torch.zeros((slots, len(mine[0])), dtype=mine[0].dtype)
        torch.stack(list(mine), out=given[: len(mine)])
        all_given = [torch.empty_like(given) for _ in range(self._place.count)]
        self._talk(lambda: dist.all_gather(all_given, given, group=self._group))
        self._bytes += (self._place.count - 1) * given.nbytes
        each = (len(MachineProcess.lanes_of(lanes, rank, self._place.count)) for rank in range(self._place.count))
        return [vector for given, count in zip(all_given, each) for vector in given[:count]]

    def beside(self, mine: Tensor) -> list[Tensor]:
        count = self._place.count
        others = list(dict.fromkeys([(self.rank - 1) % count, (self.rank + 1) % count]))
        given = [torch.empty_like(mine) for _ in others]
        self._talk(lambda: self._pass_on(mine, others, given))
        self._bytes += sum(each.nbytes for each in given)
        return given

    def _pass_on(self, mine: Tensor, others: Sequence[int], given: Sequence[Tensor]) -> None:
        sent = [dist.isend(mine, rank, group=self._group) for rank in others]
        read = [dist.irecv(each, rank, group=self._group) for rank, each in zip(others, given)]
        for each in (*read, *sent):
            each.wait()  # type: ignore[union-attr]

    def send(self, block: Tensor, rank: int) -> None:
        self._talk(lambda: dist.send(block, rank, group=self._group))

    def received(self, size: int, rank: int) -> Tensor:
        block = torch.empty(size, dtype=torch.uint8)
        self._talk(lambda: dist.recv(block, rank, group=self._group))
        self._moved += size
        return block

    def claimed(self, what: str, amount: int) -> int:
        try:
            return int(self._claims.add(f"claimed/{what}", amount))
        except RuntimeError as error:
            raise self._lost(error) from error

    def counters(self) -> dict[str, float]:
        return {"meet_s": self._seconds, "meet_bytes": self._bytes, "moved_bytes": self._moved}

    def gathered(self, mine: T) -> list[T]:
        found: list[Any] = [None] * self._place.count
        self._talk(lambda: dist.all_gather_object(found, mine, group=self._group))
        return found

    def first(self, call: Callable[[], T]) -> T:
        said: list[Any] = [None]
        if self.is_first:
            try:
                said = [(call(), None)]
            except BaseException as error:
                code = 2 if isinstance(error, UserError) else getattr(error, "exit_code", 1)
                self._talk(lambda: dist.broadcast_object_list([(None, code)], group=self._group))
                raise
        self._talk(lambda: dist.broadcast_object_list(said, group=self._group))
        value, failed = said[0]
        if failed is not None:
            raise EndedElsewhere(failed)
        return value  # type: ignore[no-any-return]

    def close(self) -> None:
        """Wait for the others, and part. Each process must call it at the end."""
        self.gathered(None)
        self.leave()

    def leave(self) -> None:
        self._alive.stop()
        if dist.is_initialized():
            with suppress(RuntimeError, ValueError):  # some of it may have failed already
                dist.destroy_process_group()
        # Ends its threads. Each needs Python to free what it sent last: while Python ends, that would abort the process.
        self._group = None

    def begin(self) -> None:
        if self._launch:
            self._launch.set(BEGUN, "")

    def _talk(self, call: Callable[[], object]) -> None:
        start = time.perf_counter()
        try:
            call()
            self._seconds += time.perf_counter() - start
        except RuntimeError as error:
            raise self._lost(error) from error

    def _lost(self, error: RuntimeError) -> RunError:
        return RunError(
            f"process {self._place.rank} of {self._place.count} lost another one, which has ended: its own message says why, "
            f"and `marius-lite resume` goes on from the last checkpoint ({_line(error)})"
        )


class SignsOfLife:
    """Shows the other processes that this one is alive, and ends it where one of them shows nothing any more.

    A thread shows and looks, a second one watches the first: the store is in the first process of all, and where that one stands
    still, so does who asks it.
    """

    def __init__(self, place: MachineProcess):
        self._place = place
        self._store = _store(place, is_host=False)
        self._stopped = threading.Event()
        now = time.monotonic()
        self._answered = now
        self._seen = {rank: (b"", now) for rank in range(place.count) if rank != place.rank}
        # Python waits for the one that asks the store: it would abort the process by its answer while Python ends.
        asks, looks = threading.Thread(target=self._show, daemon=False), threading.Thread(target=self._watch, daemon=True)
        self._threads = [asks, looks]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End both threads."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(LEAVE)

    def _show(self) -> None:
        beat = 0
        while not self._stopped.wait(BEAT) and threading.main_thread().is_alive():
            beat += 1
            try:
                self._store.set(f"alive/{self._place.rank}", str(beat))
                shown = {rank: self._store.get(f"alive/{rank}") for rank in self._seen if self._store.check([f"alive/{rank}"])}
            except RuntimeError:  # the store has ended: whoever talks to the others next is told so
                return
            self._answered = now = time.monotonic()
            self._seen.update({rank: (sign, now) for rank, sign in shown.items() if sign != self._seen[rank][0]})

    def _watch(self) -> None:
        while not self._stopped.wait(BEAT):
            now = time.monotonic()
            silent = [rank for rank, (_, at) in self._seen.items() if self._answered - at > SILENT]
            if now - self._answered > SILENT:
                self._end("the store that all processes share, in process 0," if self._place.rank else "its own store")
            elif silent:
                self._end(f"process {silent[0]} of {self._place.count}")

    def _end(self, who: str) -> None:
        """End this process, because ``who`` shows nothing any more."""
        line = f"marius-lite: {who} has not answered for {SILENT:.0f} s, so the run ends: `marius-lite resume` goes on with it\n"
        os.write(2, line.encode())
        os._exit(1)


def _store(place: MachineProcess, is_host: bool, of: object = None) -> Any:
    """Return the store of this start of the processes, or ``of`` the launch, which all its restarts have in common."""
    store = dist.TCPStore(  # type: ignore[attr-defined]
        place.address, place.port, place.count, is_host, timeout=CALL, wait_for_workers=False
    )
    return dist.PrefixStore(  # type: ignore[attr-defined]
        f"marius_lite/{place.restarts if of is None else of}", store
    )


def _line(error: BaseException) -> str:
    """Return what an error says, without the place in gloo's source and the advice behind it."""
    first = str(error).split("\n", 1)[0]
    return re.sub(r"^\[[^\]]*\.cc:\d+\] ", "", first).partition(". This is typically")[0].strip()
