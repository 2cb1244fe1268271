"""Link prediction between representations: an encoder over sampled neighbourhoods of the rows that a batch touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from marius_lite._native import segment_sum, sort_rows
from marius_lite.config.memory import RING
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.batches import Arrays, Arrived, DeviceBatches
from marius_lite.device.held import HOT_SAMPLE
from marius_lite.device.rows import sum_segments
from marius_lite.nn.encoders import CustomEncoder, Encoder, LayerGraph
from marius_lite.nn.inputs import normalized
from marius_lite.nn.model import finite
from marius_lite.nn.precision import products_in
from marius_lite.pipeline.batches import Stages, Streamed
from marius_lite.sampling.batch_rows import inverse_of
from marius_lite.sampling.neighbours import NeighbourSample
from marius_lite.sampling.windows import WindowEdges
from marius_lite.seeds import seed_for
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.train.layer_graph import arrived_graph, graph_arrays, layer_graph
from marius_lite.train.link_work import LinkWork
from marius_lite.train.neighbourhoods import Neighbourhoods
from marius_lite.train.node_work import NodeRows, row_trackers
from marius_lite.types import BatchRows, DeviceBatch, EdgeBatch, RowGrads, SampledBatch, Step


@dataclass(frozen=True, slots=True)
class SurroundedBatch:
    """A SampledBatch and the neighbourhood of its u distinct nodes; place i of src, dst, negatives is seed ``inverse[i]``."""

    sampled: SampledBatch
    around: NeighbourSample
    inverse: np.ndarray
    order: np.ndarray
    starts: np.ndarray


class EncodedLinkWork(LinkWork):
    """As LinkWork. No edge of a batch is among the edges that its messages pass, in neither direction."""

    def __init__(self, encoder: Encoder | CustomEncoder, around: Neighbourhoods, rows: NodeRows, normalize: int, *arguments: Any):
        super().__init__(*arguments)
        self._encoder, self._around, self._rows, self._normalize = encoder, around, rows, normalize
        self._partition_of_slot = np.empty(0, np.int64)

    def enter(self, step: Step, after: Step | None) -> None:
        super().enter(step, after)
        bases = {k: self.buffer.base_row(k) for k in step.resident}
        self._around.enter(bases, after.resident if after else ())
        self._partition_of_slot = np.full(self.buffer.slots, -1, np.int64)
        for k, base in bases.items():
            self._partition_of_slot[base // self.buffer.slot_rows] = k

    def stages(self) -> (Stages[EdgeBatch, SurroundedBatch, tuple[SurroundedBatch, torch.Tensor], RowGrads | None]  # type: ignore[override]
                         | Streamed[EdgeBatch, tuple[SurroundedBatch, list[BatchRows], Arrays]]):
        if self._rows.learned:
            self.buffer.mark_dirty(self._resident.partitions)
        if self.on_device is None:
            return Stages(self._surround, self._gather_around, self._learn_encoded, self._apply)
        trackers = row_trackers(self.on_device)

        def tracked(edges: EdgeBatch) -> tuple[SurroundedBatch, list[BatchRows], Arrays]:
            batch = self._surround(edges)
            rows = [track(self._rows.sampled_rows(buffer, batch.around))
                    for track, buffer in zip(trackers, self.buffers, strict=True)]
            arrays = {**graph_arrays(batch.around, self._around.lists), "inverse": batch.inverse, "order": batch.order,
                      "starts": batch.starts, "rel": edges.rel}
            return batch, rows, arrays

        return Streamed(tracked, partial(self._begin_encoded, self.on_device), RING)

    def flush(self) -> dict[int, int]:
        return super().flush() if self._rows.learned else {}

    def counters(self) -> dict[str, float]:
        return {**self._rows.counters(), **self._around.counters()}

    def close(self) -> None:
        self._around.close()
        super().close()
        for buffer in self._rows.buffers:
            if buffer is not self.buffer:
                buffer.close()

    def _load(self, resident: Sequence[int], following: Sequence[int]) -> None:
        self._rows.enter(resident, following)

    def _surround(self, edges: EdgeBatch) -> SurroundedBatch:
        sampled = self.sampler.sample(edges, self._resident)
        # By node id, not by row: which slot a partition came into must not change the order of any sum.
        places = self._node_ids(np.concatenate([edges.src, edges.dst, sampled.negatives.reshape(-1)]))
        seeds, order, starts = sort_rows(places)
        own = np.stack([places[:edges.size], places[edges.size:2 * edges.size]], 1)
        seed = seed_for(self._config.training.seed, "neighbours", edges.epoch, edges.step, edges.index)
        around = self._around.sample(seeds, seed, own, both=True)
        return SurroundedBatch(sampled, around, inverse_of(order, starts), order, starts)

    @property
    def buffers(self) -> Sequence[PartitionBuffer]:
        return self._rows.buffers

    def _touched(self, buffer: PartitionBuffer, edges: WindowEdges) -> np.ndarray:
        ends = self._node_ids(super()._touched(buffer, edges))
        return self._rows.rows_of(buffer, np.concatenate([ends, self._around.lists.some_sources(HOT_SAMPLE)]))

    def _node_ids(self, rows: np.ndarray) -> np.ndarray:
        slot, offset = np.divmod(rows, self.buffer.slot_rows)
        ids: np.ndarray = self._partition_of_slot[slot] * self._partitioning.rows + offset
        return ids

    def _gather_around(self, batch: SurroundedBatch) -> tuple[SurroundedBatch, torch.Tensor]:
        self._around.count(batch.around)
        return batch, torch.from_numpy(self._rows.gather(batch.around, int(self._config.training.threads)))

    def _learn_encoded(self, gathered: tuple[SurroundedBatch, torch.Tensor]) -> tuple[float, RowGrads | None]:
        batch, x = gathered

        def summed(grads: Sequence[torch.Tensor], out: torch.Tensor) -> None:
            segment_sum([grad.numpy() for grad in grads], batch.order, batch.starts, out.numpy())

        loss, d_x = self._gradients(batch, x, layer_graph(batch.around, self._around.lists), torch.from_numpy(batch.inverse),
                                    torch.from_numpy(batch.sampled.edges.rel), summed)
        mean = finite(float(loss), batch.sampled.edges)
        self._optimizer.step()
        return mean, RowGrads((batch.around.rows,), d_x) if d_x else None

    def _apply(self, grads: RowGrads | None) -> None:
        if grads is not None:
            self.apply(grads)

    def _begin_encoded(self, device: DeviceBatches,
                       prepared: tuple[SurroundedBatch, list[BatchRows], Arrays]) -> Callable[[], float]:
        batch, rows, arrays = prepared
        self._around.count(batch.around)
        end = device.begin(rows, arrays, partial(self._learn_encoded_on_device, device.accelerator, batch))
        return lambda: finite(end(), batch.sampled.edges)

    def _learn_encoded_on_device(self, accelerator: Accelerator, batch: SurroundedBatch,
                                 arrived: Arrived) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        def summed(grads: Sequence[torch.Tensor], out: torch.Tensor) -> None:
            sum_segments(accelerator, grads, arrived.arrays["order"], arrived.arrays["starts"], out)

        loss, d_x = self._gradients(batch, arrived.beside(), arrived_graph(batch.around, arrived), arrived.tensor("inverse"),
                                    arrived.tensor("rel"), summed)
        self._optimizer.step()
        return loss, d_x

    def _gradients(self, batch: SurroundedBatch, x: torch.Tensor, graph: LayerGraph, inverse: torch.Tensor, rel: torch.Tensor,
                   summed: Callable[[Sequence[torch.Tensor], torch.Tensor], None]) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The loss, and the gradient (n, dim) of the learned rows, where there are any; ``summed`` adds the gradients of equal
        seeds into its last argument."""
        torch.manual_seed(batch.sampled.seed)
        with products_in(self._config.training.precision):
            encoded = self._encoder(normalized(x.requires_grad_(self._rows.learned is not None), self._normalize), graph)
            places = encoded.detach().index_select(0, inverse)
            loss, grads = self._model.gradients(DeviceBatch.of(batch.sampled, places, rel))
            d_encoded = encoded.new_empty(len(batch.starts) - 1, encoded.shape[1])
            summed(grads, d_encoded)
            encoded.backward(d_encoded)
        return loss, self._rows.gradient(x.grad)
