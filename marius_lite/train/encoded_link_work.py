"""Link prediction between representations: an encoder over sampled neighbourhoods of the rows that a batch touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from marius_lite._native import gather, segment_sum, sort_rows
from marius_lite.graph.fanouts import Fanout
from marius_lite.nn.encoders import CustomEncoder, Encoder
from marius_lite.nn.model import finite
from marius_lite.nn.precision import products_in
from marius_lite.pipeline.batches import Stages
from marius_lite.sampling.batch_rows import inverse_of
from marius_lite.sampling.neighbours import NeighbourLists, NeighbourSample
from marius_lite.seeds import seed_for
from marius_lite.train.layer_graph import layer_graph
from marius_lite.train.link_work import LinkWork
from marius_lite.types import DeviceBatch, EdgeBatch, RowGrads, SampledBatch, Step

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class SurroundedBatch:
    """A SampledBatch and the neighbourhood of its u distinct nodes; place i of src, dst, negatives is seed ``inverse[i]``."""

    sampled: SampledBatch
    around: NeighbourSample
    inverse: np.ndarray
    order: np.ndarray
    starts: np.ndarray


class EncodedLinkWork(LinkWork):
    """As LinkWork, on the CPU. No edge of a batch is among the edges that its messages pass, in neither direction."""

    def __init__(self, encoder: Encoder | CustomEncoder, lists: NeighbourLists, fanouts: Sequence[Fanout], *arguments: Any):
        super().__init__(*arguments)
        self._encoder, self._lists, self._fanouts = encoder, lists, fanouts
        self._partition_of_slot = np.empty(0, np.int64)
        self._edges_seen = np.zeros(2, np.int64)

    def enter(self, step: Step, after: Step | None) -> None:
        super().enter(step, after)
        bases = {k: self.buffer.base_row(k) for k in step.resident}
        self._lists.enter(bases)
        self._lists.prefetch(after.resident if after else ())
        self._partition_of_slot = np.full(self.buffer.slots, -1, np.int64)
        for k, base in bases.items():
            self._partition_of_slot[base // self.buffer.slot_rows] = k

    def stages(self) -> Stages[EdgeBatch, SurroundedBatch, tuple[SurroundedBatch, torch.Tensor], RowGrads]:  # type: ignore[override]
        self.buffer.mark_dirty(self._resident.partitions)
        return Stages(self._surround, self._gather_around, self._learn_encoded, self.apply)

    def counters(self) -> dict[str, float]:
        return {**super().counters(), "neighbours": int(self._edges_seen[0]),
                "neighbours_not_resident": int(self._edges_seen[1]), "edges_moved": self._lists.edges_moved}

    def close(self) -> None:
        self._lists.close()
        super().close()

    def _surround(self, edges: EdgeBatch) -> SurroundedBatch:
        sampled = self.sampler.sample(edges, self._resident)
        # By node id, not by row: which slot a partition came into must not change the order of any sum.
        places = self._node_ids(np.concatenate([edges.src, edges.dst, sampled.negatives.reshape(-1)]))
        seeds, order, starts = sort_rows(places)
        training = self._config.training
        own = np.stack([places[:edges.size], places[edges.size:2 * edges.size]], 1)
        seed = seed_for(training.seed, "neighbours", edges.epoch, edges.step, edges.index)
        around = self._lists.sample(seeds, self._fanouts, seed, int(training.threads), own, both=True)
        self._edges_seen += around.neighbours, around.missing
        return SurroundedBatch(sampled, around, inverse_of(order, starts), order, starts)

    def _node_ids(self, rows: np.ndarray) -> np.ndarray:
        slot, offset = np.divmod(rows, self.buffer.slot_rows)
        ids: np.ndarray = self._partition_of_slot[slot] * self._partitioning.rows + offset
        return ids

    def _gather_around(self, batch: SurroundedBatch) -> tuple[SurroundedBatch, torch.Tensor]:
        x = np.empty((len(batch.around.rows), self._config.model.dim), np.float32)
        gather(self.buffer.rows, batch.around.rows, x)
        return batch, torch.from_numpy(x)

    def _learn_encoded(self, gathered: tuple[SurroundedBatch, torch.Tensor]) -> tuple[float, RowGrads]:
        batch, x = gathered
        torch.manual_seed(batch.sampled.seed)
        graph = layer_graph(batch.around, self._lists, CPU)
        with products_in(self._config.training.precision):
            encoded = self._encoder(x.requires_grad_(), graph)
            loss, grads = self._model.gradients(self._decoded(batch, encoded.detach()))
            encoded.backward(self._summed(batch, grads, encoded.shape[1]))
        mean = finite(float(loss), batch.sampled.edges)
        self._optimizer.step()
        assert x.grad is not None
        return mean, RowGrads((batch.around.rows,), (x.grad,))

    def _decoded(self, batch: SurroundedBatch, encoded: torch.Tensor) -> DeviceBatch:
        edges, negatives = batch.sampled.edges, batch.sampled.negatives
        places = encoded.index_select(0, torch.from_numpy(batch.inverse))
        n = len(edges.src)
        return DeviceBatch(batch.sampled, places[:n], places[n:2 * n], places[2 * n:].view(*negatives.shape, -1),
                           torch.from_numpy(edges.rel))

    def _summed(self, batch: SurroundedBatch, grads: Sequence[torch.Tensor], width: int) -> torch.Tensor:
        sums = torch.empty(len(batch.starts) - 1, width)
        segment_sum([grad.numpy() for grad in grads], batch.order, batch.starts, sums.numpy())
        return sums
