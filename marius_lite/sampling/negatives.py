"""Draw the negatives that a batch's edges share: from the batch's own nodes, and from all resident nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.sampling.known import known_among, with_selves
from marius_lite.sampling.meetings import StepMeetings
from marius_lite.seeds import generator_for, integers_for, seed_for
from marius_lite.types import ClassCorrection, Correction, EdgeBatch, Rows, SampledBatch


@dataclass(frozen=True, slots=True)
class ResidentNodes:
    """The nodes that negatives are drawn from: ``nodes`` nodes, in ``partitions`` of ``partition_rows`` each.

    The last partition may be short. ``base_rows``: the first buffer row of each partition. ``log_q``: where scores are corrected
    by it, that of each row of the buffer as a destination and as a source, float32 (2, rows). ``meetings``: of these partitions,
    where scores are corrected by how often they meet.
    """

    partitions: tuple[int, ...]
    nodes: int
    partition_rows: int
    base_rows: npt.NDArray[np.int64]
    log_q: npt.NDArray[np.float32] | None = None
    meetings: StepMeetings | None = None
    _shifts: npt.NDArray[np.int64] | None = field(init=False, compare=False)
    _classes: npt.NDArray[np.uint16] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        shifts = self.base_rows - self.partition_rows * np.arange(len(self.base_rows))
        object.__setattr__(self, "_shifts", shifts if shifts.any() else None)
        object.__setattr__(self, "_classes", self._classes_of_rows())

    def rows(self) -> Rows:
        """The rows of all resident nodes, (nodes,), partition after partition."""
        return self.at(np.arange(self.nodes))

    def at(self, places: Rows) -> Rows:
        """The rows at these indices of `rows`."""
        if self._shifts is None:
            return places
        rows: Rows = places + self._shifts[places // self.partition_rows]
        return rows

    def partition_at(self, rows: Rows) -> Rows:
        """The index in ``partitions`` of the one that each of these rows is in."""
        order = np.argsort(self.base_rows)
        found: Rows = order[np.searchsorted(self.base_rows, rows, "right", sorter=order) - 1]
        return found

    def corrections(self, edges: EdgeBatch, negatives: Rows) -> tuple[Correction, ...]:
        """What is subtracted from the scores of each side of a batch, or nothing. ``negatives``: (sides, chunks, count), or
        (1, chunks, count) for both sides."""
        if self.log_q is None and self.meetings is None:
            return ()
        ends, met, classes = (edges.src, edges.dst), self.meetings, []
        if met is not None:
            classes = [np.take(self._classes, rows) for rows in (*ends, negatives)]
            met_by = np.take(met.taken, classes[0].astype(np.int64) * len(met.taken) + classes[1])
            classes[2] = classes[2].astype(np.int64)
        result = []
        for side in range(2):
            taken, each, by_class, of_side = np.zeros(edges.size, np.float32), None, None, side % len(negatives)
            if self.log_q is not None:
                taken, each = self.log_q[side, ends[1 - side]], self.log_q[side, negatives[of_side]]
            if met is not None:
                taken = taken + met_by  # symmetric
                by_class = ClassCorrection(classes[2][of_side], np.take(met.taken, classes[side], axis=1))
            result.append(Correction(taken, each, by_class))
        return tuple(result)

    def _classes_of_rows(self) -> npt.NDArray[np.uint16]:
        """The class of the partition that each row of the buffer is in, where there are `meetings`: two bytes of each row."""
        if self.meetings is None:
            return np.empty(0, np.uint16)
        classes = np.zeros(int(self.base_rows.max()) + self.partition_rows, np.uint16)
        for base, kind in zip(self.base_rows.tolist(), self.meetings.classes.tolist(), strict=True):
            classes[base : base + self.partition_rows] = kind
        return classes

    def places(self, rows: Rows) -> Rows:
        """The indices of these rows in `rows`."""
        partition = self.partition_at(rows)
        places: Rows = partition * self.partition_rows + rows - self.base_rows[partition]
        return places


class Sampler(Protocol):
    """Draws a batch's negatives."""

    def sample(self, edges: EdgeBatch, resident: ResidentNodes) -> SampledBatch:
        """A batch's edges with negatives among the resident nodes: a function of the run's seed and the batch's place in it."""


@dataclass(frozen=True, slots=True)
class NegativeSampler:
    """Draws negatives, (sides, chunks, count). The first ``from_batch`` of each chunk are nodes of the batch itself."""

    count: int
    chunks: int
    from_batch: int
    run_seed: int
    mask_known: bool = False
    mask_self: bool = False

    def sample(self, edges: EdgeBatch, resident: ResidentNodes) -> SampledBatch:
        place = (edges.epoch, edges.step, edges.index)
        if self.from_batch:
            negatives = self._with_own(edges, resident)
        else:
            shape = (2, self.chunks, self.count)
            negatives = resident.at(integers_for(self.run_seed, "negatives", *place, resident.nodes, shape))
        left_out = known_among(edges, negatives) if self.mask_known else ()
        if self.mask_self:
            left_out = with_selves(left_out, edges, negatives)
        return SampledBatch(
            edges,
            negatives,
            seed_for(self.run_seed, "dropout", *place),
            left_out=left_out,
            corrections=resident.corrections(edges, negatives),
        )

    def _with_own(self, edges: EdgeBatch, resident: ResidentNodes) -> npt.NDArray[np.int64]:
        """Draw negatives of which some are nodes of the batch."""
        generator = generator_for(self.run_seed, "negatives", edges.epoch, edges.step, edges.index)
        negatives = np.empty((2, self.chunks, self.count), np.int64)
        drawn = generator.integers(resident.nodes, size=(2, self.chunks, self.count - self.from_batch))
        negatives[:, :, self.from_batch :] = resident.at(drawn)
        for side, nodes in enumerate((edges.dst, edges.src)):
            negatives[side, :, : self.from_batch] = nodes[generator.integers(len(nodes), size=(self.chunks, self.from_batch))]
        return negatives


@dataclass(frozen=True, slots=True)
class FewThenMany:
    """Draws by ``first`` in the first ``epochs``, and by ``later`` afterwards; also before where fewer nodes are resident than
    ``first`` would draw, so that no batch has more rows than ``later`` gives it."""

    epochs: int
    first: NegativeSampler
    later: Sampler

    def sample(self, edges: EdgeBatch, resident: ResidentNodes) -> SampledBatch:
        few = edges.epoch < self.epochs and resident.nodes >= 2 * self.first.count
        return (self.first if few else self.later).sample(edges, resident)
