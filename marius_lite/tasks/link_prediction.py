"""Link prediction: learn to score each edge of a step above negatives, which are drawn among the resident nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
import torch

from marius_lite._native import picked
from marius_lite.checkpoint.run_folder import RunFolder, read_record
from marius_lite.config.encoder_memory import resident
from marius_lite.config.memory import negatives_shape, ranking_bytes
from marius_lite.config.model_sections import drawn_by_degree
from marius_lite.config.schema import Config
from marius_lite.config.weight_power import power_of
from marius_lite.device.cache import HOT_SAMPLE
from marius_lite.device.chooser import Load, expected_loads
from marius_lite.encode.representation import PreparedPlaces, Representation
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.facts import facts_of
from marius_lite.graph.kept import KeptEdges
from marius_lite.graph.plans import plans_of
from marius_lite.graph.report import leak_lines, read_report
from marius_lite.graph.versions import dataset_of
from marius_lite.log import log
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.ordering.plan import needs_all
from marius_lite.rows.batch import Arrived, Grouped, PreparedBatch
from marius_lite.rows.resident import ResidentRows
from marius_lite.sampling.every_resident import EveryResident
from marius_lite.sampling.log_q import log_q
from marius_lite.sampling.meetings import PlannedMeetings
from marius_lite.sampling.negatives import FewThenMany, NegativeSampler, ResidentNodes, Sampler
from marius_lite.sampling.replayed import ReplayedEdges
from marius_lite.sampling.windows import Cut, Upcoming, Window, WindowEdges, WindowReader, batch_slices, to_rows, windows_of
from marius_lite.seeds import seed_for
from marius_lite.tasks.checkpoint import Checkpoint
from marius_lite.tasks.link_evaluation import RankedEdges, evaluate_split, evaluate_trained, warn_of_chance, warn_of_self_answers
from marius_lite.tasks.link_model import make_model
from marius_lite.tasks.link_vectors import link_vectors
from marius_lite.tasks.opened_links import open_links
from marius_lite.tasks.task import Exported, Setting
from marius_lite.types import DeviceBatch, EdgeBatch, Ids, SampledBatch, Step

NOWHERE = ResidentNodes((), 0, 1, np.empty(0, np.int64))


class LinkPrediction:
    """See `tasks.task.Task`."""

    def make_model(self, dataset: Dataset, config: Config, trains: bool) -> LinkPredictionModel:
        return make_model(dataset, config)

    def loads(self, dataset: Dataset, config: Config) -> list[Load]:
        nodes = resident(facts_of(dataset, config, cuda=True), int(config.storage.capacity)).nodes
        return expected_loads(
            plans_of(dataset, config)(0),
            dataset.edges("train").counts,
            dataset.partitioning.rows,
            edge_cut(config),
            prod(negatives_shape(config, nodes)),
        )

    def leaks(self, dataset: Dataset, split: str | None = None) -> list[str]:
        return leak_lines(read_report(dataset.path), split)

    def evaluate(self, checkpoint: Checkpoint, split: str, exclude_self: bool | None) -> dict[str, Any]:
        for line in self.leaks(checkpoint.dataset, split):
            log.warning("%s", line)
        with closing(open_links(checkpoint)) as opened:
            memory = ranking_bytes(checkpoint.config, checkpoint.memory, trains=False)
            ranked = RankedEdges(split, exclude_self=exclude_self, compared=True, memory=memory)
            result = evaluate_split(opened.dataset, opened.buffer, opened.model, opened.config, ranked)
        warn_of_self_answers(result, checkpoint.dataset)
        asked, nodes = checkpoint.config.evaluation.candidates, checkpoint.dataset.manifest.nodes
        warn_of_chance(result, nodes if asked == "all" else min(asked, nodes))
        return result

    def exported_width(self, checkpoint: Checkpoint) -> int:
        return checkpoint.config.model.dim

    @contextmanager
    def exported(self, checkpoint: Checkpoint) -> Iterator[Exported]:
        with closing(open_links(checkpoint, scores=False)) as opened:
            relations = opened.model.relations.detach().cpu().numpy()
            yield link_vectors(
                opened.buffer,
                opened.dataset,
                opened.config.model.dim,
                relations,
                {
                    "checkpoint": opened.checkpoint.name,
                    "decoder": opened.config.model.decoder,
                    "biases": opened.model.objective.biases,
                },
            )

    def learning(
        self, setting: Setting, rows: ResidentRows, representation: Representation, model: LinkPredictionModel
    ) -> LinkLearning:
        return LinkLearning(setting, rows, representation, model)


def edge_cut(config: Config) -> Cut:
    """Return how edges are cut into batches."""
    return Cut(config.lane_batch, config.training.even_batches)


def make_sampler(config: Config) -> Sampler:
    """Return what gives a batch its negatives: drawn ones, or every resident node; in the first epochs perhaps fewer."""
    negatives, seed, chunks = config.negatives, config.training.seed, config.lane_chunks
    every = EveryResident(seed, negatives.mask_known, negatives.mask_self)

    def drawn(count: int, chunks: int) -> NegativeSampler:
        from_batch = drawn_by_degree(count, negatives.degree_fraction)
        return NegativeSampler(count, chunks, from_batch, seed, negatives.mask_known, negatives.mask_self)

    later = every if negatives.count == "all" else drawn(negatives.count, chunks)
    if config.first_epochs == 0:
        return later
    return FewThenMany(config.first_epochs, drawn(negatives.first_count, 1 if negatives.count == "all" else chunks), later)


def trained_edges(setting: Setting) -> EdgeBuckets | KeptEdges | ReplayedEdges:
    """Return the edges that epochs train: all, kept in memory where the plan has room, or a share of those that the run of --from
    had, see `ReplayedEdges`.

    Raises UserError where that run's version of the dataset is gone.
    """
    edges, training = setting.dataset.edges("train"), setting.config.training
    if training.replay == 1:
        return KeptEdges(edges, power_of(setting.config) != 0) if setting.memory.kept_edges else edges
    known = read_record(RunFolder(setting.folder))["from"]["fingerprint"]
    before = Dataset.open(dataset_of(setting.dataset.path), known)
    if before.fingerprint != known:
        raise UserError(
            f"{dataset_of(setting.dataset.path)}: the version that the run of --from was trained on is gone, its edges are "
            "unknown: start a new run with --set training.replay=1"
        )
    return ReplayedEdges(edges, before.edges("train"), training.replay, training.seed)


@dataclass(frozen=True, slots=True)
class SampledLinks:
    """A batch's edges with their negatives, what the representation prepared for their places, and their queries by relation."""

    edges: SampledBatch
    places: PreparedPlaces
    relations: Grouped | None


class LinkLearning:
    """See `tasks.task.Learning`. An encoder passes no message along the edges of the batch itself, in either direction."""

    def __init__(self, setting: Setting, rows: ResidentRows, representation: Representation, model: LinkPredictionModel):
        self._setting, self._config, self._partitioning = setting, setting.config, setting.dataset.partitioning
        self._rows, self._representation, self._model = rows, representation, model
        self._edges = trained_edges(setting)
        memory, training = setting.memory, setting.config.training
        power = power_of(setting.config)
        self._reader = WindowReader(self._edges, memory.window_edges, training.seed, memory.orders_ahead, power)
        self._sampler = make_sampler(setting.config)
        self._meetings = (
            PlannedMeetings(plans_of(setting.dataset, setting.config))
            if setting.config.negatives.balance is True and not needs_all(setting.config.storage.ordering)
            else None
        )
        self._resident = NOWHERE
        self._relations = len(model.relations) if model.relations.numel() else 0
        self.items = self._edges.total

    def enter(self, step: Step) -> None:
        bases = self._rows.base_rows()
        self._resident = ResidentNodes(
            step.resident,
            sum(self._partitioning.size(k) for k in step.resident),
            self._partitioning.rows,
            np.array([bases[k] for k in step.resident]),
        )

    def windows(self, step: Step) -> list[Window]:
        return windows_of(step, self._edges.counts, self._setting.memory.window_edges, edge_cut(self._config))

    def open(self, epoch: int, window: Window, following: Upcoming | None) -> LinkWindow:
        edges = self._reader.take(epoch, window)
        if following is not None:
            self._reader.prefetch(*following)
        to_rows(edges, self._edges.counts, self._rows.base_rows())
        if self._config.negatives.log_q:
            self._correct(edges)
        if self._meetings is not None:
            self._resident = replace(self._resident, meetings=self._meetings.of(epoch, window.step))
        return LinkWindow(self._rows, epoch, edges)

    def later(self, epoch: int) -> Iterable[EdgeBatch]:
        return ()  # edges are read when their window is opened

    def foresee(self, batches: Sequence[EdgeBatch]) -> None:
        """Do nothing: each batch draws by itself."""

    def prepare(self, batch: EdgeBatch) -> PreparedBatch[SampledLinks]:
        sampled = self._sampler.sample(batch, self._resident)
        seed = seed_for(self._config.training.seed, "neighbours", batch.epoch, batch.step, batch.index)
        places = self._representation.prepare(sampled.places, (batch.src, batch.dst), seed)
        relations = self._by_relation(batch, sampled.sides)
        arrays = {**places.arrays, **(relations.arrays if relations else {}), **sampled.arrays(), "rel": batch.rel}
        return PreparedBatch(batch, SampledLinks(sampled, places, relations), places.rows, arrays)

    @property
    def generators(self) -> Sequence[torch.Generator]:
        return self._model.generators

    def seed(self, prepared: PreparedBatch[SampledLinks]) -> None:
        self._model.seed(prepared.sampled.edges.seed)

    def alike(self, prepared: PreparedBatch[SampledLinks]) -> Hashable:
        edges = prepared.sampled.edges
        if not self._model.repeats(edges):
            return None
        arrays = tuple((name, array.shape) for name, array in prepared.arrays.items())
        return edges.edges.size, edges.negatives.shape, edges.shared, arrays, self._model.n3_share

    def repeated(self, prepared: PreparedBatch[SampledLinks], batches: int) -> None:
        """Do nothing: what is counted, an encoder counts, whose work is not repeated."""

    def gradients(self, prepared: PreparedBatch[SampledLinks], arrived: Arrived) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        return self._learned(prepared, arrived, self._model.gradients)

    def seeded_gradients(
        self, prepared: PreparedBatch[SampledLinks], arrived: Arrived
    ) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        return self._learned(prepared, arrived, self._model.seeded_gradients)

    def _learned(
        self,
        prepared: PreparedBatch[SampledLinks],
        arrived: Arrived,
        gradients: Callable[[DeviceBatch], tuple[torch.Tensor, Sequence[torch.Tensor]]],
    ) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        """Return what `gradients` says. The vectors come first: an encoder seeds what it draws, then the model does."""
        sampled = prepared.sampled
        vectors = self._representation.vectors(sampled.places, arrived, sampled.edges.seed)
        by_relation = partial(sampled.relations.sum, arrived) if sampled.relations else None
        batch = DeviceBatch.of(sampled.edges, vectors.values, arrived.tensor("rel"), by_relation, arrived.tensor)
        loss, grads = gradients(batch)
        return loss, vectors.backward(grads)

    def _by_relation(self, batch: EdgeBatch, sides: int) -> Grouped | None:
        """Prepare the sums of the relations' gradients. None where relations have no numbers."""
        if not self._relations:
            return None
        return Grouped.of(self._model.relations_asked(batch.rel, sides), self._relations)

    def evaluate(self) -> dict[str, Any]:
        """Rank among the rows behind the buffer. Any partitions may be resident afterwards."""
        return evaluate_trained(self._setting, self._rows, self._model)

    def close(self) -> None:
        self._reader.close()

    def _correct(self, edges: WindowEdges) -> None:
        """Set what is subtracted from scores because the window draws some nodes more often than others."""
        negatives = self._config.negatives
        assert negatives.count != "all"
        fraction = drawn_by_degree(negatives.count, negatives.degree_fraction) / negatives.count
        rows = int(self._resident.base_rows.max()) + self._partitioning.rows
        each = [
            log_q(ends[edges.order] if power_of(self._config) else ends, rows, self._resident.nodes, fraction)
            for ends in (edges.dst, edges.src)
        ]
        self._resident = replace(self._resident, log_q=np.stack(each))


@dataclass(frozen=True)
class LinkWindow:
    """Edges of a window as rows of the main buffer."""

    rows: ResidentRows
    epoch: int
    edges: WindowEdges

    @property
    def window(self) -> Window:
        return self.edges.window

    def batches(self, start: int) -> Iterator[EdgeBatch]:
        edges = self.edges
        for index, part in batch_slices(self.window, start):
            src, dst, rel = (picked(column, edges.order[part]) for column in (edges.src, edges.dst, edges.rel))
            yield EdgeBatch(self.epoch, self.window.step, index, src, dst, rel)

    def touched(self) -> Ids:
        every = max(1, len(self.edges.src) // HOT_SAMPLE)
        ends = np.concatenate([self.edges.src[::every], self.edges.dst[::every]])
        return self.rows.node_ids(ends.astype(np.int64))
