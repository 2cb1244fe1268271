"""Classification of nodes: an encoder reads sampled neighbourhoods of the training nodes. Its vectors are scores of classes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from marius_lite.config.encoder_memory import reached
from marius_lite.config.node_planning import NodePlanning
from marius_lite.config.schema import Config
from marius_lite.device.chooser import Load, node_loads
from marius_lite.encode.representation import Encoded, PreparedPlaces, Representation
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.graph.node_columns import Labels
from marius_lite.graph.plans import plans_of
from marius_lite.log import log
from marius_lite.nn.classifier import NodeClassifier
from marius_lite.rows.batch import Arrived, PreparedBatch
from marius_lite.rows.resident import ResidentRows
from marius_lite.sampling.node_batches import (
    Take,
    drawn_in,
    node_batches,
    node_window,
    nodes_of_lane,
    step_of_draws,
    taken_batches,
)
from marius_lite.sampling.windows import Upcoming, Window
from marius_lite.seeds import seed_for
from marius_lite.tasks.checkpoint import Checkpoint
from marius_lite.tasks.class_probabilities import SPLITS, class_probabilities, open_classifier
from marius_lite.tasks.labelling import labelling
from marius_lite.tasks.node_evaluation import classify_split, warn_of_chance
from marius_lite.tasks.node_model import make_classifier, training_nodes
from marius_lite.tasks.task import Blocks, Exported, Setting
from marius_lite.types import Ids, NodeBatch, Step


class NodeClassification:
    """See `tasks.task.Task`."""

    def make_model(self, dataset: Dataset, config: Config, trains: bool) -> NodeClassifier:
        return make_classifier(dataset, config, trains)

    def loads(self, dataset: Dataset, config: Config) -> list[Load]:
        facts, training = facts_of(dataset, config, cuda=True), training_nodes(dataset)
        sizes = NodePlanning().encoder_sizes(config, facts, int(config.storage.capacity))
        nodes, plan = reached(config, sizes.seeds, sizes.graph)[0][-1], plans_of(dataset, config)(0)
        return node_loads(
            plan,
            [len(training.of(step.targets)) for step in plan.steps],
            dataset.partitioning.rows,
            config.training.batch_size,
            nodes,
        )

    def leaks(self, dataset: Dataset, split: str | None = None) -> list[str]:
        return []

    def evaluate(self, checkpoint: Checkpoint, split: str, exclude_self: bool | None) -> dict[str, Any]:
        if exclude_self is not None:
            option, run = "--exclude-self" if exclude_self else "--include-self", checkpoint.run.path
            raise UserError(f"{option}: {run} classifies nodes, so there are no answers to leave out: leave out the option")
        dataset, folder = checkpoint.dataset, checkpoint.run.path
        if checkpoint.config.model.known_classes and split == "train":
            log.warning(
                "training nodes see their own classes (model.known_classes), so that these figures say nothing: evaluate another "
                "split"
            )
        result = classify_split(dataset, open_classifier(checkpoint), checkpoint.config, split, folder, checkpoint.table)
        by_accuracy = checkpoint.config.training.metric == "accuracy"
        warn_of_chance(result, not isinstance(dataset.required_labels(), Labels), by_accuracy)
        return result

    def exported_width(self, checkpoint: Checkpoint) -> int:
        return classes_of(checkpoint)

    @contextmanager
    def exported(self, checkpoint: Checkpoint) -> Iterator[Exported]:
        dataset, classes = checkpoint.dataset, classes_of(checkpoint)
        names, column = dataset.manifest.class_names, labelling(dataset).column
        with class_probabilities(checkpoint) as classified:
            blocks: Blocks = (
                (each.raw, {"probabilities": each.probabilities, "split": each.split, column: each.answers})
                for each in classified
            )
            facts = {
                "classes": [*(names or range(classes))],
                "splits": list(SPLITS),
                "checkpoint": checkpoint.path.name,
                "encoder": checkpoint.config.model.encoder,
            }
            yield Exported(
                [("nodes", blocks, dataset.manifest.nodes)],
                {"split": SPLITS, **({column: names} if names else {})},
                facts,
                probabilities=True,
            )

    def learning(
        self, setting: Setting, rows: ResidentRows, representation: Representation, model: NodeClassifier
    ) -> NodeLearning:
        assert isinstance(representation, Encoded)
        return NodeLearning(setting, rows, representation, model)


def classes_of(checkpoint: Checkpoint) -> int:
    """Return how many classes a checkpoint's dataset has."""
    return checkpoint.dataset.required_labels().classes


class NodeLearning:
    """See `tasks.task.Learning`."""

    def __init__(self, setting: Setting, rows: ResidentRows, representation: Encoded, model: NodeClassifier):
        self._setting, self._config = setting, setting.config
        self._rows, self._representation, self._model = rows, representation, model
        self._plans = plans_of(setting.dataset, setting.config)
        self._training = training_nodes(setting.dataset)
        self.items = len(self._training.ids)

    def enter(self, step: Step) -> None:
        """Do nothing: each window brings its training nodes."""

    def windows(self, step: Step) -> list[Window]:
        nodes = nodes_of_lane(len(self._training.of(step.targets)), step.lane, self._config.scale.lanes)
        return [node_window(step.index, nodes, self._config.lane_batch)]

    def open(self, epoch: int, window: Window, following: Upcoming | None) -> NodeWindow:
        targets, config = self._plans(epoch).steps[window.step].targets, self._config
        return NodeWindow(
            window, epoch, self._training.of(targets), config.training.seed, config.sampling.refresh_epochs, config.scale.lanes
        )

    def later(self, epoch: int) -> Iterator[NodeBatch]:
        if self._config.adapts:  # who takes which nodes is known when they are taken
            return
        for plan in map(self._plans, range(epoch + 1, self._config.training.epochs)):
            if len(plan.steps) > 1:  # what a batch needs follows from what is resident then
                return
            (window,) = self.windows(plan.steps[0])
            yield from self.open(plan.epoch, window, None).batches(0)

    def foresee(self, batches: Sequence[NodeBatch]) -> None:
        self._representation.foresee([(batch.nodes, self._neighbours_seed(batch)) for batch in batches])

    def prepare(self, batch: NodeBatch) -> PreparedBatch[PreparedPlaces]:
        places = self._representation.prepare_nodes(batch.nodes, self._neighbours_seed(batch))
        labels = self._training.labels_of(batch.nodes)
        return PreparedBatch(batch, places, places.rows, {**places.arrays, "labels": labels})

    def _neighbours_seed(self, batch: NodeBatch) -> int:
        drawn = drawn_in(batch.epoch, self._config.sampling.refresh_epochs)
        step = step_of_draws(batch.step, self._config.scale.lanes)
        return seed_for(self._config.training.seed, "neighbours", drawn, step, batch.index)

    @property
    def generators(self) -> Sequence[torch.Generator]:
        return self._representation.generators

    def seed(self, prepared: PreparedBatch[PreparedPlaces]) -> None:
        at = prepared.batch
        self._representation.seed(seed_for(self._config.training.seed, "dropout", at.epoch, at.step, at.index))

    def alike(self, prepared: PreparedBatch[PreparedPlaces]) -> Hashable:
        sample = prepared.sampled.sample
        if sample is None or not self._representation.pads:
            return None
        return prepared.batch.size, self._share(prepared), *sample.hop_nodes.tolist(), *sample.hop_edges.tolist()

    def repeated(self, prepared: PreparedBatch[PreparedPlaces], batches: int) -> None:
        self._representation.count(prepared.sampled, batches)

    def gradients(self, prepared: PreparedBatch[PreparedPlaces], arrived: Arrived) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        self.seed(prepared)
        return self.seeded_gradients(prepared, arrived)

    def seeded_gradients(
        self, prepared: PreparedBatch[PreparedPlaces], arrived: Arrived
    ) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        vectors = self._representation.vectors_of_nodes(prepared.sampled, arrived)
        loss, d_scores = self._model.gradients(vectors.values, arrived.tensor("labels"))
        # The loss is a mean: the sum of all lanes' gradients is then that of the mean over the nodes of all.
        share = self._share(prepared)
        return loss, vectors.backward([d_scores if share == 1 else d_scores * share])

    def _share(self, prepared: PreparedBatch[PreparedPlaces]) -> float:
        """Return the share of the nodes of a batch that this lane trains."""
        assert isinstance(prepared.batch, NodeBatch)
        return prepared.batch.share

    def evaluate(self) -> dict[str, Any]:
        checksums, learned, config = self._rows.flush(), self._rows.learned, self._config
        return classify_split(
            self._setting.dataset,
            self._model,
            config,
            config.evaluation.split,
            self._setting.folder,
            learned.expecting(checksums) if learned else None,
        )

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class NodeWindow:
    """The training nodes of a step. ``refresh``: epochs that have the same batches. ``lanes``: see `node_batches`."""

    window: Window
    epoch: int
    ids: Ids
    seed: int
    refresh: int = 1
    lanes: int = 1

    def batches(self, start: int) -> Iterator[NodeBatch]:
        return node_batches(self.epoch, self.window, self.ids, self.seed, start, self.refresh, self.lanes)

    def taken(self, take: Take) -> Iterator[NodeBatch]:
        """Yield a batch of the shuffled nodes for each stretch that ``take`` gives, until it gives none. See `taken_batches`."""
        return taken_batches(self.epoch, self.window, self.ids, self.seed, take)

    def touched(self) -> Ids:
        return self.ids[:0]  # they are few: most rows that batches touch are their neighbours'
