"""Neighbours that training does not see, because they are not in memory while a node is trained."""

from __future__ import annotations

from typing import NamedTuple

from marius_lite.config.schema import Config


class Unseen(NamedTuple):
    """``where``: whose neighbours, and where they are. ``more``: of what there should be more. ``else_``: what else
    would help.
    """

    where: str
    more: str
    else_: str = ""


def unseen(config: Config) -> Unseen | None:
    """Return which neighbours a run does not see where partitions are not resident; None where it sees all, or looks at none.

    The configuration must be resolved.
    """
    if not config.encodes or config.trains_layerwise:
        return None
    if config.trains_clusters:
        return Unseen("a batch's partitions are in others", "partitions (storage.capacity), or fewer and larger ones,")
    exact = "" if config.device != "cpu" or config.scale.ranks > 1 else "; `sampling.scope: exact` draws among all"
    return Unseen("resident nodes are not resident", "resident partitions (storage.memory)", exact)
