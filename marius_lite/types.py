"""The types that pass from one stage to another. Each is made by one package, and never changed afterwards.

| type         | made by       | read by                  |
|--------------|---------------|--------------------------|
| EpochPlan    | ordering      | train, storage, estimate |
| Step         | ordering      | train, storage, sampling |
| EdgeBatch    | tasks         | sampling                 |
| NodeBatch    | sampling      | tasks                    |
| SampledBatch | sampling      | tasks                    |
| BatchRows    | sampling      | rows, device             |
| DeviceBatch  | tasks         | nn                       |
| RowGrads     | rows          | optim                    |

A *row* is an index into the buffer's table of records: slot * rows per slot + offset inside the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

Rows = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int64]
"""Ids of nodes."""
LEFT_OUT, ANSWERS, NEGATIVES, CLASSES, TAKEN = "left out", "answers", "negatives", "classes", "taken"
"""Names of `comparison_arrays`."""


@dataclass(frozen=True, slots=True)
class Step:
    """The partitions that are resident at one time, and what is trained meanwhile.

    ``load`` and ``evict``: what changes after the step before in the same epoch; the first step loads all its partitions.
    ``buckets``: the (source partition, destination partition) pairs whose edges are trained. ``targets``: the partitions whose
    training nodes are trained. ``lane``, ``round``: who trains it, and when, where several lanes train at the same time
    (`ordering.lanes`); the step before is then the lane's own.
    """

    index: int
    resident: tuple[int, ...]
    load: tuple[int, ...]
    evict: tuple[int, ...]
    buckets: tuple[tuple[int, int], ...] = ()
    targets: tuple[int, ...] = ()
    lane: int = 0
    round: int = 0

    @property
    def trained(self) -> tuple[int, ...]:
        """The partitions that are trained, not only resident."""
        return self.targets or tuple(sorted({k for bucket in self.buckets for k in bucket}))

    def following(self, after: Step | None) -> list[int]:
        """The partitions that the step ``after`` this one needs besides; none where there is no such step."""
        return [k for k in after.resident if k not in self.resident] if after else []


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """The steps of one epoch. They depend on (ordering, partitions, capacity, seed, epoch) alone."""

    ordering: str
    partitions: int
    capacity: int
    epoch: int
    steps: tuple[Step, ...]

    @property
    def swaps(self) -> int:
        """How many partitions are loaded after each lane's first step."""
        return sum(len(step.load) for step in self.steps) - sum(len(step.load) for step in self._first.values())

    @property
    def _first(self) -> dict[int, Step]:
        """The first step of each lane."""
        return {step.lane: step for step in reversed(self.steps)}


@dataclass(frozen=True, slots=True)
class EdgeBatch:
    """The edges of one batch. ``src`` and ``dst`` are rows, ``rel`` are relation ids, (n,) int64 each."""

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
    """The nodes of one batch, which are classified. ``nodes``: node ids, (n,) int64.

    ``share``: which part of the nodes it has that several lanes train at once.
    """

    epoch: int
    step: int
    index: int
    nodes: npt.NDArray[np.int64]
    share: float = 1.0

    @property
    def size(self) -> int:
        return len(self.nodes)


Batch = EdgeBatch | NodeBatch


class SizedBatch(Protocol):
    """The place of a batch in a run, and how many edges or nodes it has. Every `Batch` says it."""

    @property
    def epoch(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def index(self) -> int: ...
    @property
    def size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs (position of an edge in its batch, column), ascending by edge, (m,) int64 each."""

    edges: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]

    def one_each(self, edges: int) -> bool:
        """Return whether each of so many edges has exactly one."""
        return len(self.edges) == edges and np.array_equal(self.edges, np.arange(edges))


def one_after_another(pairs: Sequence[Pairs], size: int) -> Pairs:
    """Return the pairs of several batches of ``size`` edges each, as pairs of one batch that has all their edges in turn."""
    return Pairs(
        np.concatenate([each.edges + size * place for place, each in enumerate(pairs)]),
        np.concatenate([each.columns for each in pairs]),
    )


@dataclass(frozen=True, slots=True)
class ClassCorrection:
    """What is subtracted from the scores of negatives by their class and by the query.

    ``classes``: of negatives, int64 (chunks, count). ``taken``: float32 (classes, n).
    """

    classes: npt.NDArray[np.int64]
    taken: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Correction:
    """What is subtracted from the scores of a side: of its answers, float32 (n,); of each negative, float32 (chunks, count), or
    None; and of negatives by their class, or None."""

    answers: npt.NDArray[np.float32]
    negatives: npt.NDArray[np.float32] | None = None
    by_class: ClassCorrection | None = None


def both_sides(corrections: Sequence[Correction]) -> Correction:
    """Return the correction of the queries of several sides in turn, which have the same negatives."""
    first, taken = corrections[0], [each.by_class.taken for each in corrections if each.by_class]
    by_class = ClassCorrection(first.by_class.classes, np.concatenate(taken, 1)) if first.by_class else None
    return Correction(np.concatenate([each.answers for each in corrections]), first.negatives, by_class)


def comparison_arrays(left_out: Pairs | None, correction: Correction | None) -> dict[str, npt.NDArray[Any]]:
    """Return by name what a comparison with negatives needs: `LEFT_OUT` int64 (2, pairs), and the arrays of a correction."""
    arrays: dict[str, npt.NDArray[Any] | None] = {}
    if left_out is not None:
        arrays[LEFT_OUT] = np.stack([left_out.edges, left_out.columns])
    if correction is not None:
        arrays |= {ANSWERS: correction.answers, NEGATIVES: correction.negatives}
        if by_class := correction.by_class:
            arrays |= {CLASSES: by_class.classes, TAKEN: by_class.taken}
    return {name: array for name, array in arrays.items() if array is not None}


def of_set(name: str, number: int) -> str:
    """Return the name that an array of one set of negatives has among those of its batch."""
    return f"{name} {number}"


@dataclass(frozen=True, slots=True)
class SampledBatch:
    """An EdgeBatch with its negatives, which the edges of a chunk share.

    ``negatives``: rows, (sides, chunks, count). Side 0 replaces destinations, side 1 sources. Where ``shared``, one set of
    negatives, (1, chunks, count), serves both sides, whose edges are one batch of 2n then. ``seed``: the seed of what the batch
    still draws (dropout). ``left_out``: for each set the (edge, negative of its chunk) pairs that do not count, or empty.
    ``corrections``: for each set what is subtracted from the scores, or empty.
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

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return `comparison_arrays` of each set k of negatives, with names as `of_set` makes them."""
        return {
            of_set(name, k): array
            for k, (left_out, correction) in enumerate(self.comparisons())
            for name, array in comparison_arrays(left_out, correction).items()
        }

    def comparisons(self) -> list[tuple[Pairs | None, Correction | None]]:
        """Return what is left out and corrected with each set of negatives."""
        none = [None] * len(self.negatives)
        return list(zip(self.left_out or none, self.corrections or none))

    @property
    def places(self) -> Rows:
        """The rows of src, of dst, then of the negatives: (m,)."""
        return np.concatenate([self.edges.src, self.edges.dst, self.negatives.reshape(-1)])


@dataclass(frozen=True, slots=True)
class BatchRows:
    """The different rows of one table that a batch uses, and which of them is at each of its m places.

    ``rows``: (u,) int64. The first ``cold`` of them ascend, and come from the host's buffer. The others come from a cache on the
    device, where their places are ``hot`` (u - cold,) int64. Place i of the batch has row ``rows[inverse[i]]`` (int32). The other
    way round, rows[s] is at the places order[starts[s]:starts[s + 1]], ascending (int32). ``again``: which cold rows batches
    before this one use too, the latest batch last: (how many batches before, positions in the rows of that batch, positions in
    these rows), int32.

    The cold rows of a table that is only read may be in any order. Where ``inverse`` is empty, place i has ``rows[i]``.
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
        """The bytes of all its arrays."""
        named = sum(earlier.nbytes + later.nbytes for _, earlier, later in self.again)
        return sum(each.nbytes for each in (self.rows, self.hot, self.inverse, self.order, self.starts)) + named


@dataclass(frozen=True, slots=True)
class DeviceBatch:
    """The gathered rows of a SampledBatch, as float32 tensors on the device.

    ``ends``: of the sources, then of the destinations, (2n, dim). ``negatives``: (sides, chunks, count, dim). ``rel``: relation
    ids, (n,) int64. ``by_relation``: sums the rows of all queries' relations, (sides * n, width), by relation, as was prepared
    with the batch. ``arrived``: gives the batch's arrays by name, where they came with it.
    """

    sampled: SampledBatch
    ends: torch.Tensor
    negatives: torch.Tensor
    rel: torch.Tensor
    by_relation: Callable[[torch.Tensor], torch.Tensor] | None = None
    arrived: Callable[[str], torch.Tensor] | None = None

    @classmethod
    def of(
        cls,
        sampled: SampledBatch,
        places: torch.Tensor,
        rel: torch.Tensor,
        by_relation: Callable[[torch.Tensor], torch.Tensor] | None = None,
        arrived: Callable[[str], torch.Tensor] | None = None,
    ) -> DeviceBatch:
        """Make it from the rows at the batch's places, (m, dim), in the order of `SampledBatch.places`."""
        n = sampled.edges.size
        return cls(sampled, places[: 2 * n], places[2 * n :].view(*sampled.negatives.shape, -1), rel, by_relation, arrived)

    @property
    def src(self) -> torch.Tensor:
        """The rows of the sources, (n, dim)."""
        return self.ends[: len(self.rel)]

    @property
    def dst(self) -> torch.Tensor:
        """The rows of the destinations, (n, dim)."""
        return self.ends[len(self.rel) :]


@dataclass(frozen=True, slots=True)
class RowGrads:
    """The gradients of the rows of one batch, before those of equal rows are summed. They come in parts.

    ``rows``: the rows of each part, (m_k,). ``grads``: their gradients, (m_k, dim) float32 on the host. ``seed``: of the chance
    by which rows of bfloat16 are rounded.
    """

    rows: Sequence[Rows]
    grads: Sequence[torch.Tensor]
    seed: int = 0
