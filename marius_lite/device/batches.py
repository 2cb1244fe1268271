"""The way of a batch on a device: rows up, arithmetic, rows back, each on a stream of its own and several batches at a time.

    gathering    ids of batch n, rows that no batch under way has touched ...         | overlaps
    computing    ... those that one has, from where it left them; learn; update       | with its
    scattering   updated rows back to the host's buffer                               | neighbours

Events order the streams; the host waits for a batch only to end it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import torch

from marius_lite.config.memory import LOOK_BACK, RING
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.packet import Packet, Sent
from marius_lite.device.rows import DeviceTable, TablePart
from marius_lite.device.streams import Event
from marius_lite.errors import RunError
from marius_lite.types import BatchRows

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ArrivedBatch:
    """A batch on the device: of each table what stands at the batch's places, float32 (m, columns), and its other arrays."""

    values: list[torch.Tensor]
    arrays: Mapping[str, Sent]

    def tensor(self, name: str) -> torch.Tensor:
        return self.arrays[name].tensor

    def beside(self) -> torch.Tensor:
        """The values of all tables, whose places are the same, side by side."""
        return self.values[0] if len(self.values) == 1 else torch.cat(self.values, 1)


Learn = Callable[[ArrivedBatch], tuple[torch.Tensor, Sequence[torch.Tensor]]]
"""A batch's loss, and the gradients of the places of the table that changes, in parts end to end; none where no table does."""


@dataclass
class _Slot:
    """What one batch under way needs beside its tables' blocks."""

    packet: Packet
    loss: torch.Tensor
    computed: Event | None = None
    landed: Event | None = None


class DeviceBatches:
    """Trains batches over rows of ``tables``, at most one of which they change. Not for several threads at once.

    ``packet``: bytes of a batch's ids and other arrays, at the start; more is taken where one needs it.
    """

    def __init__(self, accelerator: Accelerator, tables: Sequence[DeviceTable], packet: int = 0):
        self.accelerator, self.tables = accelerator, list(tables)
        self._ring = [_Slot(Packet(accelerator, packet), accelerator.host_bytes(8).view(torch.float64)) for _ in range(RING)]
        self._changes = any(table.update for table in tables)
        self._begun = 0

    def begin(self, rows: Sequence[BatchRows], arrays: Arrays, learn: Learn) -> Callable[[], float]:
        """Put a batch on the streams. What is returned waits until its update has landed, and gives its loss.

        ``rows``: of each table; ``arrays``: what else ``learn`` asks for. At most RING batches may be under way: the oldest ends
        before one more begins. Raises RunError where the device's memory is too little, or torch has no deterministic way.
        """
        try:
            return self._begin(rows, arrays, learn)
        except torch.cuda.OutOfMemoryError as error:
            reason = str(error).splitlines()[0]
            raise RunError(f"{self.accelerator.device}: a batch needs more memory than storage.device_memory leaves: lower "
                           f"training.batch_size, sampling.fanouts or storage.device_cache ({reason})") from error
        except RuntimeError as error:
            if "deterministic implementation" not in str(error):
                raise
            raise RunError(f"{self.accelerator.device}: {str(error).splitlines()[0]}: use another model.encoder or `device: "
                           "cpu`, or give up bit-identical runs by `training.staleness: 1`") from error

    def _begin(self, rows: Sequence[BatchRows], arrays: Arrays, learn: Learn) -> Callable[[], float]:
        slot, device = self._slot(0), self.accelerator
        gathering, computing, scattering = device.gathering, device.computing, device.scattering
        if self._reserve(slot, rows, arrays):
            gathering.after(computing.record())  # memory new to the gathering stream may be the computing one's until here
        parts = [table.part(self._begun, each, slot.packet) for table, each in zip(self.tables, rows, strict=True)]
        sent = {name: slot.packet.put(array) for name, array in arrays.items()}
        if self._begun >= LOOK_BACK:
            gathering.after(self._slot(-LOOK_BACK).computed)  # the last to read the block that is filled now
        if self._begun > LOOK_BACK:
            gathering.after(self._slot(-LOOK_BACK - 1).landed)  # from here on, rows missing in the host's table are named
        gathering.run(lambda: self._fetch(slot.packet, parts))
        computing.after(gathering.record())
        computing.run(lambda: self._compute(slot.loss, parts, sent, learn))
        landed = slot.computed = computing.record()
        if self._changes:
            scattering.after(slot.computed)
            scattering.run(lambda: self._store(parts))
            landed = scattering.record()
        slot.landed = landed
        self._begun += 1

        def end() -> float:
            landed.wait()
            return float(slot.loss[0])

        return end

    def close(self) -> None:
        """Wait for what is under way, and give up the device's memory."""
        for stream in (self.accelerator.gathering, self.accelerator.computing, self.accelerator.scattering):
            stream.record().wait()
        self._ring.clear()
        for table in self.tables:
            table.close()

    def _slot(self, ago: int) -> _Slot:
        return self._ring[(self._begun + ago) % RING]

    def _reserve(self, slot: _Slot, rows: Sequence[BatchRows], arrays: Arrays) -> bool:
        size = sum(each.nbytes for each in rows) + sum(array.nbytes for array in arrays.values())
        moved = [table.reserve(self._begun, len(each.rows)) for table, each in zip(self.tables, rows, strict=True)]
        return slot.packet.clear(size) or any(moved)

    def _fetch(self, packet: Packet, parts: Sequence[TablePart]) -> None:
        packet.send(self.accelerator.gathering.handle)
        for part in parts:
            part.fetch()

    def _store(self, parts: Sequence[TablePart]) -> None:
        for part in parts:
            part.store()

    def _compute(self, place: torch.Tensor, parts: Sequence[TablePart], sent: Mapping[str, Sent], learn: Learn) -> None:
        loss, grads = learn(ArrivedBatch([part.values() for part in parts], sent))
        place.copy_(loss.reshape(1), non_blocking=True)
        for part in parts:
            part.update(grads)
