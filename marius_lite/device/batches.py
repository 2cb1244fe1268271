"""Train batches on a device, several under way at a time. Each passes through three streams:

    gathering    copy ids and rows from the host to the batch's block
    computing    copy rows that earlier batches have changed out of their blocks; compute gradients; update the block
    scattering   copy the updated rows back to the host's buffer

The streams of different batches overlap, and events keep them in order. The host waits only for a batch to end.

Where all rows are cached on the device, several batches can be begun together: they are sent by one copy, and may be one graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.config.memory import GRAPH_BYTES, LOOK_BACK, RING, TOGETHER
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.arrived import Learn
from marius_lite.device.packet import ALIGNMENT, ARRAYS, LONG, Packet
from marius_lite.device.replay import Replays
from marius_lite.device.rows import DeviceTable
from marius_lite.device.sent import Repeated, SentBatch
from marius_lite.device.streams import Event
from marius_lite.errors import RunError
from marius_lite.types import BatchRows

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch to begin. ``rows``: its rows of each table. ``arrays``: what else ``learn`` needs, by name."""

    rows: Sequence[BatchRows]
    arrays: Arrays
    learn: Learn | Repeated

    @property
    def nbytes(self) -> int:
        """The bytes of all its arrays."""
        return sum(each.nbytes for each in self.rows) + sum(array.nbytes for array in self.arrays.values())


@dataclass
class _Slot:
    """What batches begun together need beside their tables' blocks. The events follow their computing and their last stream.

    ``losses``: (`TOGETHER`,) float64 on the host, which ``told`` shows without torch.
    """

    packet: Packet
    losses: torch.Tensor
    told: npt.NDArray[np.float64]
    computed: Event | None = None
    ended: Event | None = None


class DeviceBatches:
    """Trains batches over the rows of ``tables``, of which they change at most one. Not for several threads at once.

    ``packet``: the bytes that a batch's ids and other arrays have room for at the start. The room grows with larger batches.
    ``graphs``: the bytes of the graphs that are kept, see `Replays`. ``room``: bytes of device memory that batches leave free.
    """

    def __init__(
        self, accelerator: Accelerator, tables: Sequence[DeviceTable], packet: int = 0, graphs: int = GRAPH_BYTES, room: int = 0
    ):
        self.accelerator, self.tables, self.room = accelerator, list(tables), room
        losses = [accelerator.host_bytes(8 * TOGETHER).view(torch.float64) for _ in range(RING)]
        self._ring = [_Slot(Packet(accelerator, packet), loss, loss.numpy()) for loss in losses]
        self._replays = Replays(accelerator, graphs)
        self._begun = 0
        accelerator.order_new_memory()

    def begin(self, batches: Sequence[NewBatch]) -> Callable[[], list[float]]:
        """Put batches on the streams. Call what is returned to wait for them to end; it returns their losses.

        There may be up to `TOGETHER` of them where all rows of all tables are cached, else one. At most RING such calls may be
        under way, so the oldest must end before another begins. Raises RunError where the device has too little memory, or where
        torch has no deterministic implementation of what a batch's ``learn`` does.
        """
        advice = "lower training.batch_size, sampling.fanouts or storage.device_cache"
        try:
            with self.accelerator.taking_memory("a batch", advice):
                return self._begin(batches)
        except RuntimeError as error:
            if "deterministic implementation" not in str(error):
                raise
            raise RunError(
                f"{self.accelerator.device}: {str(error).splitlines()[0]}: use another model.encoder or `device: "
                "cpu`, or give up bit-identical runs by `training.staleness: 1`"
            ) from error

    def _begin(self, new: Sequence[NewBatch]) -> Callable[[], list[float]]:
        self._replays.tidy()
        slot, device = self._slot(0), self.accelerator
        gathering, computing, scattering = device.gathering, device.computing, device.scattering
        if self._reserve(slot, new):
            device.order_new_memory()
        batches = [self._put(slot.packet, each) for each in new]
        whole = batches[0].whole
        if len(new) > 1 and not whole:
            raise ValueError(f"{len(new)} batches together, though not all rows are cached on the device")
        if whole and slot.packet.used < LONG * len(new):  # it takes less time to send than events take
            computing.run(lambda: slot.packet.send(computing.handle))
        else:
            if self._begun >= LOOK_BACK:
                gathering.after(self._slot(-LOOK_BACK).computed)  # the last batch that reads this block
            if self._begun > LOOK_BACK:
                gathering.after(self._slot(-LOOK_BACK - 1).ended)  # later batches are the ones that `BatchRows.again` names
            gathering.run(lambda: self._fetch(slot.packet, batches))
            computing.after(gathering.record())
        computing.run(lambda: self._compute(slot.losses, batches))
        ended = slot.computed = computing.record()
        if any(part.goes_back for part in batches[0].parts):
            scattering.after(slot.computed)
            scattering.run(lambda: self._store(batches))
            ended = scattering.record()
        slot.ended = ended
        self._begun += 1

        def end() -> list[float]:
            ended.wait()
            losses: list[float] = slot.told[: len(new)].tolist()
            return losses

        return end

    def close(self) -> None:
        """Wait for the batches under way, and free the device's memory."""
        for stream in (self.accelerator.gathering, self.accelerator.computing, self.accelerator.scattering):
            stream.record().wait()
        self._ring.clear()
        self._replays.close()
        for table in self.tables:
            table.close()

    def _put(self, packet: Packet, batch: NewBatch) -> SentBatch:
        """Put a batch's arrays into the packet of its slot."""
        parts = [table.part(self._begun, each, packet) for table, each in zip(self.tables, batch.rows, strict=True)]
        return SentBatch(parts, dict(zip(batch.arrays, packet.put([*batch.arrays.values()]))), batch.learn)

    def _slot(self, ago: int) -> _Slot:
        """The slot of what begins now (0), or of what began before it (-1, -2, ...)."""
        return self._ring[(self._begun + ago) % RING]

    def _reserve(self, slot: _Slot, new: Sequence[NewBatch]) -> bool:
        """Have room for the next batches in the slot and in every table; true if some of it is new memory.

        They have a table's room in common: where there are several, each is done with it before the next one begins.
        """
        most = [max(len(batch.rows[k].rows) for batch in new) for k in range(len(self.tables))]
        moved = [table.reserve(self._begun, rows) for table, rows in zip(self.tables, most)]
        aligning = (len(new) - 1) * ARRAYS * ALIGNMENT  # the packet counts one batch's itself
        return slot.packet.clear(sum(batch.nbytes for batch in new) + aligning) or any(moved)

    def _fetch(self, packet: Packet, batches: Sequence[SentBatch]) -> None:
        packet.send(self.accelerator.gathering.handle)
        for batch in batches:
            for part in batch.parts:
                part.fetch()

    def _store(self, batches: Sequence[SentBatch]) -> None:
        for batch in batches:
            for part in batch.parts:
                part.store()

    def _compute(self, out: torch.Tensor, batches: Sequence[SentBatch]) -> None:
        """Learn from batches and update their blocks. The losses go to ``out``, on the host."""
        device, place = self.accelerator, out.data_ptr()
        for losses in self._replays.train(batches):
            device.library.copy(
                device=device.index, stream=device.computing.handle, target=place, source=losses.data_ptr(), bytes=losses.nbytes
            )
            place += losses.nbytes
