"""Sections of the configuration that say how what is learned changes: optimizers, their schedule, the regularizer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from marius_lite._native import ROW_OPTIMIZERS
from marius_lite.config.names import NameOf
from marius_lite.config.section import Auto, Fraction, Section


class RowOptimizerSection(Section):
    """The optimizer of node rows."""

    name: Annotated[str, NameOf(ROW_OPTIMIZERS)] = Field("row_adagrad", description="update rule of node rows")
    lr: PositiveFloat = Field(0.1, le=1e30, description="learning rate of node rows")
    clip: NonNegativeFloat = Field(0.0, description="largest norm of a row's gradient; a larger one is scaled down; 0: no limit")


class DenseOptimizerSection(Section):
    """The optimizer of relations and dense weights."""

    name: Literal["adagrad", "adam", "sgd"] = Field("adagrad", description="update rule of relations and dense weights")
    lr: PositiveFloat = Field(0.1, le=1e30, description="learning rate of relations and dense weights")
    clip: NonNegativeFloat = Field(
        0.0, description="largest norm of all these gradients together; a larger one is scaled down; 0: no limit"
    )
    weight_decay: NonNegativeFloat | tuple[NonNegativeFloat, ...] = Field(
        0.0,
        description="factor of the weights that is added to their gradient; one number, or one for each of an encoder's layers",
    )


class ScheduleSection(Section):
    """How the learning rates change while a run trains."""

    name: Literal["constant", "linear", "cosine", "plateau"] = Field(
        "constant",
        description="how both learning rates change, from window to window of edges. linear, cosine: to 0 at the "
        "last epoch's end. plateau: times `factor` after `patience` evaluations in a row without a better one",
    )
    warmup: NonNegativeFloat = Field(0.0, description="epochs, or a part of one, in which both learning rates rise from 0")
    patient_warmup: bool = Field(
        False,
        description="whether evaluations before the warmup's end count neither as a plateau nor for training.early_stopping: "
        "models are not meant to get better while rates are low",
    )
    factor: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(0.3, description="plateau: factor of the learning rates")
    patience: PositiveInt = Field(2, description="plateau: evaluations in a row without a better one")
    lowest: Fraction = Field(0.001, description="smallest share of the learning rates that is left; the warmup may go below it")


class OptimizerSection(Section):
    """Both optimizers, and their schedule."""

    rows: RowOptimizerSection = Field(default_factory=RowOptimizerSection)
    dense: DenseOptimizerSection = Field(default_factory=DenseOptimizerSection)
    schedule: ScheduleSection = Field(default_factory=ScheduleSection)


class RegularizerSection(Section):
    """What is added to the loss to keep rows small."""

    name: Literal["none", "n3"] = Field(
        "none", description="n3: sum of the cubed moduli of an edge's source, relation and destination, for each side"
    )
    weight: NonNegativeFloat | Auto = Field(
        0.0,
        description="factor of the regularizer, beside the loss summed over edges; auto: 0.1 on graphs of fewer than 5 training "
        "edges a node, else 0.05",
    )
    decay: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        1.0,
        description="below 1: at the first of several plateaus of the schedule in a row `weight` is multiplied by this, at the "
        "third divided by it, or the other way round where dividing helped the last time. If neither makes evaluations better, "
        "`weight` goes back to what it was at the fifth, and the learning rates are lowered",
    )
    eases: bool = Field(
        True,
        description="with `decay` below 1: `weight` is also multiplied by it, at evaluations, where the regularizer makes the "
        "relations of complex or distmult vanish before anything is learned",
    )

    @property
    def is_on(self) -> bool:
        """Whether the loss has a regularizer. ``weight`` must not be auto any more."""
        return self.weight not in (0, "auto")
