"""Tell what is due at the end of an epoch. The trainer does it, and `plan` counts it."""

from __future__ import annotations

from math import ceil

from marius_lite.config.first_negatives import first_evaluated
from marius_lite.config.schema import Config

REGULARIZER_TRIED = {1: 1, 3: -2, 5: 1}
"""What changes at each plateau of a row without a better evaluation: by how many steps the regularizer becomes weaker. It becomes
weaker at the first, stronger at the third, and as it was at the fifth; the other way round where stronger was better before.
Each stays for two plateaus, because rows take longer than an evaluation to show what it does."""


def tried_when(plateaus: int) -> int:
    """Return what is tried in the ``plateaus``-th plateau of a row: 1: what is tried first, -1: the contrary, 0: nothing."""
    tried = sum(change for plateau, change in REGULARIZER_TRIED.items() if plateau <= plateaus)
    return (tried > 0) - (tried < 0)


VANISHED = 0.1
"""Largest number of relations below which scores hardly differ. Models that learn pass it in the first epochs."""
GROWN_AFTER = 64
"""Batches after which relations have grown that can, however small they are drawn. Where they did, 40 were enough."""


def may_ease(config: Config, epochs: int, items: int, weakened: int) -> bool:
    """Return whether the regularizer becomes a step weaker if relations have not grown after so many ``epochs``.

    ``items``: edges of an epoch. ``weakened``: by how many steps it is weaker already. It is so at most every other epoch, from
    the warmup's first quarter and GROWN_AFTER batches on, because rows take that long to show what a weight does.
    """
    regularizer, batches = config.regularizer, -(-items // config.training.batch_size)
    changes = regularizer.eases and regularizer.is_on and regularizer.decay < 1 and not is_last(config, epochs - 1)
    first = max(config.optimizer.schedule.warmup / 4, ceil(GROWN_AFTER / max(1, batches)))
    return changes and epochs >= first and 2 * weakened <= epochs - first


def is_last(config: Config, epoch: int) -> bool:
    """Return whether an epoch (from 0) is the last one."""
    return epoch + 1 == config.training.epochs


def evaluation_due(config: Config, epoch: int) -> bool:
    """Return whether an evaluation follows an epoch. The last epoch always has one, unless there are none.

    Of epochs that compare edges with few nodes fewer have one, and the last of them does.
    """
    every, done, first = int(config.evaluation.every_epochs), epoch + 1, config.first_epochs
    if every == 0:
        return False
    if done < first:
        every = first_evaluated(config)
    return done % every == 0 or done == first or is_last(config, epoch)


def ranking_due(config: Config, epoch: int) -> bool:
    """Return whether an evaluation follows that reads all learned rows. Where there is an encoder it reads vectors instead."""
    return not config.encodes and evaluation_due(config, epoch)


def loads_pause(config: Config, epoch: int) -> bool:
    """Whether no partition of the next epoch is loaded ahead: there is none, or an evaluation takes the buffer first."""
    return is_last(config, epoch) or evaluation_due(config, epoch)


def warmup_told(config: Config) -> list[str]:
    """Say, in one line, that learning rates rise for some epochs, in which figures say little."""
    warmup = config.optimizer.schedule.warmup
    if warmup < 2:
        return []
    return [f"learning rates rise for {warmup:g} epochs (`optimizer.schedule.warmup`): figures say little until then"]


def checkpoint_due(config: Config, epoch: int) -> bool:
    """Return whether a checkpoint follows an epoch. The last epoch always has one.

    So has each that is evaluated, where the best is kept: it is known only afterwards whether it is the best.
    """
    may_be_best = config.checkpoint.keep_best and evaluation_due(config, epoch)
    return may_be_best or (epoch + 1) % config.checkpoint.every_epochs == 0 or is_last(config, epoch)


def checkpoints_kept(config: Config) -> int:
    """Return how many tables of rows the checkpoints hold at most.

    Each epoch rewrites every partition, so checkpoints do not share files for long.
    """
    best = config.checkpoint.keep_best and config.evaluation.every_epochs != 0
    return config.checkpoint.keep + best + 1  # one more while it is published, until an older one is removed
