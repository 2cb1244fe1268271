"""What a task needs, known before anything of it is loaded: its settings, its plans, its memory."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

from marius_lite.config.encoder_memory import EncoderSizes
from marius_lite.config.facts import Facts
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.config.tasks import TASKS
from marius_lite.places import at_place
from marius_lite.types import EpochPlan

Rules = list[tuple[bool, str]]
"""Whether a rule between settings is broken, and what is then said."""


class Resolved(NamedTuple):
    capacity: int
    ordering: str
    memory: MemoryPlan


class Planning(Protocol):
    unit: Literal["edges", "nodes"]
    """What is trained: edges, or nodes that have labels and a split."""
    metrics: tuple[str, ...]
    """The figures of an evaluation; the first is `training.metric: auto` where `metric` says nothing else."""
    losses: tuple[str, ...]
    edge_bytes_read: int
    """Bytes of each training edge that every epoch reads from disk, beside in-edge lists."""

    def rules(self, config: Config) -> Rules:
        """Of settings that this task reads otherwise than others do."""

    def metric(self, facts: Facts) -> str:
        """`training.metric: auto`."""

    def loss(self, facts: Facts) -> str:
        """`loss.name: auto`."""

    def check(self, config: Config, facts: Facts) -> None:
        """Raise UserError for settings that the dataset does not suit."""

    def resolve(self, config: Config, facts: Facts, budget: int) -> Resolved:
        """The capacity, its ordering and its memory. ``config.device`` is no more auto. Raises UserError where they disagree."""

    def plan(self, config: Config, partitions: int, training: int, epoch: int) -> EpochPlan:
        """The plan of an epoch of a resolved configuration; training nodes fill the first ``training`` partitions."""

    def encoder_sizes(self, config: Config, facts: Facts, capacity: int) -> EncoderSizes:
        """Of a batch that passes an encoder."""

    def seeds(self, config: Config, batch: int, nodes: int) -> int:
        """Nodes that a ``batch`` of so many items begins from, of ``nodes`` in all."""

    def items(self, facts: Facts) -> int:
        """Edges or nodes trained in an epoch."""

    def unused(self, labels: bool) -> list[str]:
        """Parts of a dataset that this task does not use, one line each; ``labels``: whether its nodes have labels."""

    def doubtful(self, config: Config, relations: int) -> list[str]:
        """Settings that work, but are probably not wanted, one line each."""

    def described(self, config: Config) -> dict[str, Any]:
        """The parts of a model, for `info`."""

    def out_width(self, config: Config, facts: Facts) -> int:
        """Numbers of a node that a model gives."""


def encoder_described(config: Config) -> dict[str, Any]:
    """The encoder's part of what `Planning.described` says."""
    return config.model.model_dump(mode="json", include={"encoder", "layers", "inputs"}) if config.encodes else {}


def planning_of(config: Config) -> Planning:
    planning: Planning = at_place(TASKS[config.task].planning)()
    return planning
