"""What several lanes need that train at the same time: rules between settings, and a lane's share of the machine."""

from __future__ import annotations

from marius_lite.config.facts import Facts
from marius_lite.config.planning import Rules
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.ordering.lanes import LANE_ORDERINGS
from marius_lite.ordering.rounds import has_field, has_plane

FEW_CANDIDATES = 0.25
"""The share of the partitions below which negatives, which are drawn among a lane's resident ones, may make the model worse."""


def rules(config: Config) -> Rules:
    """Return the rules for settings that several lanes do not have, or that only they have."""
    ranks, every = config.scale.ranks, config.scale.relations_every
    ordering, method = config.storage.ordering, config.training.method
    several = f"`scale.ranks` is {ranks}, but"
    return [
        (
            ordering in LANE_ORDERINGS and ranks == 1,
            f"`storage.ordering` is {ordering}, but `scale.ranks` is 1: leave one of them out",
        ),
        (
            ranks > 1 and not config.lanes_see_all and ordering not in ("auto", *LANE_ORDERINGS),
            f"{several} `storage.ordering` is {ordering}: leave it out",
        ),
        (
            ranks > 1 and config.task not in ("link_prediction", "node_classification"),
            f"{several} `task` is {config.task}: only link_prediction and node_classification have several lanes, leave it out",
        ),
        (
            ranks > 1 and method != "sampled",
            f"{several} `training.method` is {method}: lanes train sampled neighbourhoods so far, leave one of them out",
        ),
        (config.adapts and ranks == 1, "`scale.mode` is adaptive, but `scale.ranks` is 1: give two ranks or more"),
        (
            config.adapts and config.task != "node_classification",
            f"`scale.mode` is adaptive, but `task` is {config.task}: only node_classification has it so far, use lanes",
        ),
        (
            config.adapts and config.sampling.refresh_epochs > 1,
            f"`scale.mode` is adaptive, but `sampling.refresh_epochs` is {config.sampling.refresh_epochs}: each epoch has other "
            "batches, leave one of them out",
        ),
        (
            config.scale.merge == "ring" and not config.adapts,
            "`scale.merge` is ring, but `scale.mode` is lanes, which are in step with all: leave one of them out",
        ),
        (
            config.scale.merge_bits < 32 and ranks == 1,
            f"`scale.merge_bits` is {config.scale.merge_bits}, but `scale.ranks` is 1, which tells nobody anything: leave it out",
        ),
        (every > 1 and ranks == 1, f"`scale.relations_every` is {every}, but `scale.ranks` is 1: leave it out"),
        (
            every > 1 and config.encodes,
            f"`scale.relations_every` is {every}, but `model.encoder` is {config.model.encoder}, whose weights would make fewer "
            "steps: use a larger `training.batch_size`, or leave it out",
        ),
        (ranks > 1 and "cuda" in config.device, f"{several} `device` is {config.device}: lanes train on the CPU so far"),
        (
            ranks > 1 and config.training.staleness > 0,
            f"{several} `training.staleness` is {config.training.staleness}: lanes are in step, use 0",
        ),
    ]


def check_rows(config: Config, inputs: str) -> None:
    """Raise UserError where lanes would share rows that are learned. ``inputs``: what nodes begin with."""
    if config.lanes_see_all and inputs != "features":
        raise UserError(
            f"`scale.ranks` is {config.scale.ranks}, but nodes have learned rows, which lanes would change at the same time: use "
            "`model.inputs: features` with a dataset that has features, or leave `scale.ranks` out"
        )


def check_memory(config: Config, whole: bool) -> None:
    """Raise UserError where batches come as workers are free, but rows in an order that is known. ``whole``: all in memory."""
    if config.adapts and not whole:
        raise UserError(
            "`scale.mode` is adaptive, but the features do not fit in the memory of a process: raise `storage.memory`, or use "
            "`scale.mode: lanes`, which reads them from disk"
        )


def check(config: Config, facts: Facts) -> None:
    """Raise UserError where a dataset has too few partitions for the lanes."""
    ranks = config.scale.ranks
    if ranks > 1 and facts.partitions < 2 * ranks:
        raise UserError(
            f"`scale.ranks` is {ranks}, which needs {2 * ranks} partitions or more, the dataset has {facts.partitions}: "
            "`marius-lite repartition` makes more, or give fewer ranks"
        )


def doubtful(config: Config, partitions: int) -> list[str]:
    """Return what makes a model of several lanes worse than that of one, one line each. ``config``: resolved."""
    ranks = config.scale.ranks
    if ranks == 1 or config.lanes_see_all:
        return []
    capacity = int(config.storage.capacity)
    wanted = f"{ranks**2} partitions or a multiple" if has_field(ranks) else "2, 3, 4, 5, 7 or 8 ranks"
    said = {
        f"`scale.ranks` is {ranks} and the dataset has {partitions} partitions, so that groups of partitions meet in pairs, "
        f"which makes models worse: {wanted} would let more meet at once (docs/scale.md)": not has_plane(ranks, partitions),
        f"negatives are drawn among {capacity} of {partitions} partitions at a time, which may make the model worse: fewer "
        "`scale.ranks`, or more `storage.memory` for each, draw among more": capacity < FEW_CANDIDATES * partitions,
    }
    return [line for line, so in said.items() if so]


def of_lane(config: Config, facts: Facts) -> tuple[int, int]:
    """Return (bytes, threads) that a lane may take where the configuration leaves it open: half of what is free, all threads."""
    ranks = config.scale.ranks
    return facts.available_memory // 2 // ranks, max(1, facts.threads // ranks)
