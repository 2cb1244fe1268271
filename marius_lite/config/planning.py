"""What a task says of itself before any of its code that needs torch is loaded: its settings, its plans, its memory."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from marius_lite.config.encoder_memory import EncoderSizes
from marius_lite.config.facts import Facts
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.config.tasks import TASKS
from marius_lite.places import at_place
from marius_lite.types import EpochPlan

Rules = list[tuple[bool, str]]
"""Rules between settings: whether each is broken, and the message if so."""


class Resolved(NamedTuple):
    """The settings that a task has chosen, and the memory that they take. ``scope``, ``lists``: those of `sampling`."""

    capacity: int
    ordering: str
    memory: MemoryPlan
    scope: str = "resident"
    lists: str = "memory"


class Planning(Protocol):
    """What a task needs. Where it takes ``config`` and ``facts``, they are those of one run."""

    unit: Literal["edges", "nodes"]
    """What is trained: edges, or labelled nodes of the training split."""
    metrics: tuple[str, ...]
    """The figures of an evaluation that ``training.metric`` may name; `metric` chooses one."""
    losses: tuple[str, ...]
    edge_bytes_read: int
    """Bytes of each training edge that every epoch reads from disk, beside in-edge lists."""

    def rules(self, config: Config) -> Rules:
        """Return the rules for settings that this task reads in its own way."""

    def metric(self, facts: Facts) -> str:
        """Return what ``training.metric: auto`` stands for."""

    def loss(self, facts: Facts) -> str:
        """Return what ``loss.name: auto`` stands for."""

    def check(self, config: Config, facts: Facts) -> None:
        """Raise UserError for settings that the dataset does not suit."""

    def resolve(self, config: Config, facts: Facts, budget: int) -> Resolved:
        """Choose the capacity and the ordering, and count their memory. ``config.device`` is resolved already.

        ``budget``: bytes. Raises UserError where settings, dataset and budget disagree.
        """

    def plan(self, config: Config, counts: npt.NDArray[np.int64], training: int, epoch: int) -> EpochPlan:
        """Return an epoch's plan, for a resolved configuration. Training nodes are in the first ``training`` partitions.

        ``counts``: training edges of each bucket, (p, p).
        """

    def encoder_sizes(self, config: Config, facts: Facts, capacity: int) -> EncoderSizes:
        """Return what the memory of a batch depends on, where there is an encoder."""

    def seeds(self, config: Config, batch: int, nodes: int) -> int:
        """Return how many nodes a batch of ``batch`` items begins from, of ``nodes`` in all."""

    def items(self, facts: Facts) -> int:
        """Return how many edges or nodes an epoch trains."""

    def unused(self, labels: bool) -> list[str]:
        """Return which parts of a dataset this task does not use, one line each. ``labels``: whether nodes have labels."""

    def doubtful(self, config: Config, relations: int) -> list[str]:
        """Return which settings work but are probably not wanted, one line each."""

    def described(self, config: Config) -> dict[str, Any]:
        """Return the settings of the model, for `info`."""

    def reduces_graph(self, config: Config) -> bool:
        """Return whether a search may train on a part of the graph first. Else nodes need what lies beyond it."""

    def has_ways(self, config: Config) -> bool:
        """Return whether there are several ways to bring a batch's rows into memory, which `prices.ways` compares."""

    def out_width(self, config: Config, facts: Facts) -> int:
        """Return how many numbers an encoder gives for a node."""


def encoder_described(config: Config) -> dict[str, Any]:
    """Return the encoder's part of what `Planning.described` says."""
    return config.model.model_dump(mode="json", include={"encoder", "layers", "inputs"}) if config.encodes else {}


def planning_of(config: Config) -> Planning:
    """Return the planning of the task that a configuration names."""
    planning: Planning = at_place(TASKS[config.task].planning)()
    return planning
