"""Train batches on a device, several under way at a time. Each passes through three streams:

    gathering    copy ids and rows from the host to the batch's block
    computing    copy rows that earlier batches have changed out of their blocks; compute gradients; update the block
    scattering   copy the updated rows back to the host's buffer

The streams of different batches overlap, and events keep them in order. The host waits only for a batch to end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.config.memory import GRAPH_BYTES, LOOK_BACK, RING
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.arrived import Learn
from marius_lite.device.packet import LONG, Packet, Sent
from marius_lite.device.replay import Repeated, Replays, is_whole, trained
from marius_lite.device.rows import DeviceTable, TablePart
from marius_lite.device.streams import Event
from marius_lite.errors import RunError
from marius_lite.types import BatchRows

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass
class _Slot:
    """What a batch under way needs beside its tables' blocks. The events follow its computing and its last stream.

    ``loss``: (1,) float64 on the host, which ``told`` shows without torch.
    """

    packet: Packet
    loss: torch.Tensor
    told: npt.NDArray[np.float64]
    computed: Event | None = None
    ended: Event | None = None


class DeviceBatches:
    """Trains batches over the rows of ``tables``, of which they change at most one. Not for several threads at once.

    ``packet``: the bytes that a batch's ids and other arrays have room for at the start. The room grows with larger batches.
    ``graphs``: the bytes of the graphs that are kept, see `Replays`.
    """

    def __init__(self, accelerator: Accelerator, tables: Sequence[DeviceTable], packet: int = 0, graphs: int = GRAPH_BYTES):
        self.accelerator, self.tables = accelerator, list(tables)
        losses = [accelerator.host_bytes(8).view(torch.float64) for _ in range(RING)]
        self._ring = [_Slot(Packet(accelerator, packet), loss, loss.numpy()) for loss in losses]
        self._replays = Replays(accelerator, graphs)
        self._begun = 0
        accelerator.order_new_memory()

    def begin(self, rows: Sequence[BatchRows], arrays: Arrays, learn: Learn | Repeated) -> Callable[[], float]:
        """Put a batch on the streams. Call what is returned to wait for the batch to end; it returns the loss.

        ``rows``: the batch's rows of each table. ``arrays``: what else ``learn`` needs. At most RING batches may be under way, so
        the oldest must end before another begins. Raises RunError where the device has too little memory, or where torch has no
        deterministic implementation of what ``learn`` does.
        """
        advice = "lower training.batch_size, sampling.fanouts or storage.device_cache"
        try:
            with self.accelerator.taking_memory("a batch", advice):
                return self._begin(rows, arrays, learn)
        except RuntimeError as error:
            if "deterministic implementation" not in str(error):
                raise
            raise RunError(
                f"{self.accelerator.device}: {str(error).splitlines()[0]}: use another model.encoder or `device: "
                "cpu`, or give up bit-identical runs by `training.staleness: 1`"
            ) from error

    def _begin(self, rows: Sequence[BatchRows], arrays: Arrays, learn: Learn | Repeated) -> Callable[[], float]:
        self._replays.tidy()
        slot, device = self._slot(0), self.accelerator
        gathering, computing, scattering = device.gathering, device.computing, device.scattering
        if self._reserve(slot, rows, arrays):
            device.order_new_memory()
        parts = [table.part(self._begun, each, slot.packet) for table, each in zip(self.tables, rows, strict=True)]
        sent = {name: slot.packet.put(array) for name, array in arrays.items()}
        if is_whole(parts) and slot.packet.used < LONG:  # it takes less time to send than events take
            computing.run(lambda: slot.packet.send(computing.handle))
        else:
            if self._begun >= LOOK_BACK:
                gathering.after(self._slot(-LOOK_BACK).computed)  # the last batch that reads this block
            if self._begun > LOOK_BACK:
                gathering.after(self._slot(-LOOK_BACK - 1).ended)  # later batches are the ones that `BatchRows.again` names
            gathering.run(lambda: self._fetch(slot.packet, parts))
            computing.after(gathering.record())
        computing.run(lambda: self._compute(slot.loss, parts, sent, learn))
        ended = slot.computed = computing.record()
        if any(part.goes_back for part in parts):
            scattering.after(slot.computed)
            scattering.run(lambda: self._store(parts))
            ended = scattering.record()
        slot.ended = ended
        self._begun += 1

        def end() -> float:
            ended.wait()
            return float(slot.told[0])

        return end

    def close(self) -> None:
        """Wait for the batches under way, and free the device's memory."""
        for stream in (self.accelerator.gathering, self.accelerator.computing, self.accelerator.scattering):
            stream.record().wait()
        self._ring.clear()
        self._replays.close()
        for table in self.tables:
            table.close()

    def _tell(self, loss: torch.Tensor, out: torch.Tensor) -> None:
        device = self.accelerator
        device.library.copy(
            device=device.index, stream=device.computing.handle, target=out.data_ptr(), source=loss.data_ptr(), bytes=8
        )

    def _slot(self, ago: int) -> _Slot:
        """The slot of the batch that begins now (0), or of one that began before it (-1, -2, ...)."""
        return self._ring[(self._begun + ago) % RING]

    def _reserve(self, slot: _Slot, rows: Sequence[BatchRows], arrays: Arrays) -> bool:
        """Have room for the next batch in the slot and in every table; true if some of it is new memory."""
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

    def _compute(self, out: torch.Tensor, parts: Sequence[TablePart], sent: Mapping[str, Sent], learn: Learn | Repeated) -> None:
        """Learn from a batch and update its blocks. The loss goes to ``out``, (1,) on the host."""
        loss = self._replays.train(parts, sent, learn) if isinstance(learn, Repeated) else trained(parts, sent, learn)
        self._tell(loss, out)
