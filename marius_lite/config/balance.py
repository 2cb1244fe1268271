"""Say whether scores are corrected for how often partitions meet (`negatives.balance`), and what that takes."""

from __future__ import annotations

from math import prod

from marius_lite.config.decoders import DECODERS
from marius_lite.config.memory import CLASSES, largest_batch, negatives_shape
from marius_lite.config.schema import Config


def can_balance(config: Config) -> bool:
    """Return whether a loss of softmax compares inner products: what is added to scores is then a logarithm of chances."""
    return config.loss.name in ("auto", "softmax") and DECODERS[config.model.decoder].inner


def balances(config: Config) -> bool:
    """Return whether scores are corrected where partitions meet more or less often."""
    return can_balance(config) and config.negatives.balance is not False


def meetings_bytes(config: Config, resident: int) -> int:
    """Return the bytes of the classes of nodes, and of what is taken by them, of two batches. ``resident``: nodes in memory."""
    queries, negatives = 2 * largest_batch(config), prod(negatives_shape(config, resident))
    return 2 * (queries * 4 * (1 + 2 * CLASSES) + negatives * (8 + 12 * CLASSES))
