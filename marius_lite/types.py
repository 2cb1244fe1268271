"""The nouns that travel between stages. Each is made by one package and never changed afterwards.

| noun         | made by       | read by                  |
|--------------|---------------|--------------------------|
| EpochPlan    | ordering      | train, storage, estimate |
| Step         | ordering      | train, storage, sampling |
| EdgeBatch    | tasks         | sampling                 |
| NodeBatch    | sampling      | tasks                    |
| SampledBatch | sampling      | tasks                    |
| BatchRows    | sampling      | rows, device             |
| DeviceBatch  | tasks         | nn                       |
| RowGrads     | rows          | optim                    |

A *row* is an index into the buffer's table of records: slot * rows per slot + offset in the partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Step:
    """What is resident at one time, and the work done meanwhile.

    ``load`` and ``evict`` are the differences to the step before in the same epoch (the first step loads all
    its partitions); ``buckets`` are the (source partition, destination partition) pairs trained in it, ``targets`` the
    partitions whose training nodes are.
    """

    index: int
    resident: tuple[int, ...]
    load: tuple[int, ...]
    evict: tuple[int, ...]
    buckets: tuple[tuple[int, int], ...] = ()
    targets: tuple[int, ...] = ()

    def following(self, after: Step | None) -> list[int]:
        """The partitions that the step ``after`` this one needs besides; none where there is no such step."""
        return [k for k in after.resident if k not in self.resident] if after else []


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """The sequence of steps of one epoch: a pure function of (ordering, partitions, capacity, seed, epoch)."""

    ordering: str
    partitions: int
    capacity: int
    epoch: int
    steps: tuple[Step, ...]

    @property
    def swaps(self) -> int:
        """Loads after the first fill, in partitions."""
        return sum(len(step.load) for step in self.steps[1:])


@dataclass(frozen=True, slots=True)
class EdgeBatch:
    """The edges of one batch: ``src`` and ``dst`` are rows, ``rel`` relation ids; each of shape (n,), int64."""

    epoch: int
    step: int
    index: int
    src: Rows
    dst: Rows
    rel: Rows

    @property
    def size(self) -> int:
        return len(self.src)


@dataclass(frozen=True, slots=True)
class NodeBatch:
    """The nodes of one batch, to be classified: ``nodes`` (n,) int64 node ids."""

    epoch: int
    step: int
    index: int
    nodes: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        return len(self.nodes)


Batch = EdgeBatch | NodeBatch


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of an edge's position in its batch, ascending, and a column: (m,) int64 each."""

    edges: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]


def one_after_another(pairs: Sequence[Pairs], size: int) -> Pairs:
    """Join the pairs of several batches of ``size`` edges each, whose edges stand one batch after another."""
    return Pairs(np.concatenate([each.edges + size * place for place, each in enumerate(pairs)]),
                 np.concatenate([each.columns for each in pairs]))


@dataclass(frozen=True, slots=True)
class Correction:
    """Corrections that are subtracted from the scores of a side's answers (n,) and negatives (chunks, count); float32."""

    answers: npt.NDArray[np.float32]
    negatives: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SampledBatch:
    """An EdgeBatch with its shared negatives.

    ``negatives`` holds rows, shape (sides, chunks, count); side 0 corrupts destinations, side 1 sources. Where ``shared``, one
    set of them, (1, chunks, count), serves both sides. ``seed`` feeds whatever the batch still draws (dropout).
    ``left_out``: for each side, or none, the (edge, negative of its chunk) pairs that do not count; ``corrections``: for each
    side, or none, what is taken from the scores.
    """

    edges: EdgeBatch
    negatives: npt.NDArray[np.int64]
    seed: int
    shared: bool = False
    left_out: tuple[Pairs, ...] = ()
    corrections: tuple[Correction, ...] = ()

    @property
    def sides(self) -> int:
        return 2 if self.shared else len(self.negatives)

    @property
    def places(self) -> Rows:
        """The rows of src, dst, then the negatives: (m,)."""
        return np.concatenate([self.edges.src, self.edges.dst, self.negatives.reshape(-1)])


@dataclass(frozen=True, slots=True)
class BatchRows:
    """The rows of one table that a batch touches, each once; what stands at its m places.

    ``rows`` (u,) int64: the first ``cold`` of them ascend and come from the host's buffer, the rest from a table on the
    device, at ``hot`` (u - cold,) int64. Place i holds ``rows[inverse[i]]`` (int32); places order[starts[s]:starts[s + 1]]
    hold rows[s], ascending (int32). ``again``: for batches before this one, the latest last, (how many batches before,
    positions in that batch's rows, positions in these), int32, of the cold rows that both touch.

    Of a table that is only read, cold rows may stand in any order; where ``inverse`` is empty, place i holds ``rows[i]``.
    """

    rows: Rows
    cold: int
    hot: Rows
    inverse: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    again: tuple[tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int32]], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        named = sum(there.nbytes + here.nbytes for _, there, here in self.again)
        return sum(each.nbytes for each in (self.rows, self.hot, self.inverse, self.order, self.starts)) + named


@dataclass(frozen=True, slots=True)
class DeviceBatch:
    """Tensors of a SampledBatch on the device, float32.

    ``src``, ``dst``: (n, dim); ``negatives``: (sides, chunks, count, dim); ``rel``: (n,) int64.
    """

    sampled: SampledBatch
    src: torch.Tensor
    dst: torch.Tensor
    negatives: torch.Tensor
    rel: torch.Tensor

    @classmethod
    def of(cls, sampled: SampledBatch, places: torch.Tensor, rel: torch.Tensor) -> DeviceBatch:
        """From what stands at its places, in the order of `SampledBatch.places`: (m, dim)."""
        n = sampled.edges.size
        return cls(sampled, places[:n], places[n:2 * n], places[2 * n:].view(*sampled.negatives.shape, -1), rel)


@dataclass(frozen=True, slots=True)
class RowGrads:
    """Gradients of the rows of one batch before equal rows are summed.

    ``rows``: the parts' row ids, each of shape (m_k,); ``grads``: their gradients, each (m_k, dim) float32 on the host.
    """

    rows: Sequence[Rows]
    grads: Sequence[torch.Tensor]
