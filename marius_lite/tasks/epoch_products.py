"""Tell how long the products of an epoch take on this processor, before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite.config.memory import scored_shape
from marius_lite.config.schema import Config
from marius_lite.counted import counted
from marius_lite.graph.dataset import Dataset
from marius_lite.tasks.resolved import resident_nodes, scoring_rates

LONG = 180
"""Seconds of an epoch that are told of when a run begins."""
OPERATIONS = 6
"""Operations for a number of a compared pair: the product, and those of both gradients, a multiplication and an addition each."""


@dataclass(frozen=True)
class EpochProducts:
    """The products of an epoch: their ``operations``, and the operations a second of all ``threads``, as far as they were timed.

    Gathering, the loss and the rest of a batch come on top.
    """

    operations: int
    rate: float
    threads: int

    @property
    def seconds(self) -> float:
        return self.operations / self.rate

    def told(self) -> str:
        length = counted(round(self.seconds), "second") if self.seconds < LONG else f"{self.seconds / 60:.1f} minutes"
        return (
            f"{self.operations / 1e12:,.2f} TFLOP an epoch, {length} at the {self.rate / 1e9:.0f} GFLOP/s of {self.threads} "
            f"thread{'s' if self.threads > 1 else ''}"
        )


def epoch_products(dataset: Dataset, config: Config) -> EpochProducts | None:
    """Return what an epoch of a resolved configuration multiplies. None where the processor's way was not timed, or makes less
    than half a GFLOP/s.
    """
    rates = scoring_rates(dataset, config)
    rate = rates.get(config.training.scoring, max(rates.values(), default=0))
    if not rate:
        return None
    _, candidates, dim = scored_shape(config, resident_nodes(dataset, config))
    compared = 2 * candidates
    if config.loss.relation_weight:
        compared += dataset.manifest.relations * (2 if config.model.reciprocal else 1)
    threads = int(config.training.threads)
    return EpochProducts(OPERATIONS * dim * compared * dataset.manifest.edges["train"], 1e9 * threads * rate, threads)


def long_epochs(dataset: Dataset, config: Config) -> list[str]:
    """Say, in one line, that epochs are long, and what is shorter."""
    found = epoch_products(dataset, config)
    if found is None or found.seconds < LONG:
        return []
    less = "a smaller `model.dim`, or fewer negatives, make it less"
    if config.negatives.count == "all":
        less = "`--config preset:kg` compares an edge with 2,000 nodes instead of all; a smaller `model.dim` makes it less too"
    after = f"after the first {config.first_epochs} epochs " if config.first_epochs else ""
    return [f"{after}products take {found.told()}: {less}"]
