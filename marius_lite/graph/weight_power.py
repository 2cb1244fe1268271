"""Find in proportion to which power of their weights edges are trained, where nothing is said of it.

Weights may say how strong a link is, how far apart its ends are, or nothing. Walks over the training links tell: where the
weights mean something, walks that follow links by them lead to the other ends of links that were left out more often than walks
that follow all alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite.config import machine
from marius_lite.config.schema import Config
from marius_lite.config.weight_power import power_of
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.weight_shares import shares
from marius_lite.graph.weighted_walks import Walks, weighed_links
from marius_lite.log import log

MOST_EDGES, EDGE_BYTES = 10_000_000, 150
"""Edges of graphs that are looked at, at most: some ten seconds; what one takes meanwhile."""
SHARE = 0.25
"""The share of the memory that may be taken."""
HELD, LEAST_HELD, FEWEST = 1000, 250, 50
"""Links that are left out and asked for, at most, and of many links; how many must be, so that figures mean something."""
NUMBERS = 8_000_000
"""Nodes or links times links that are asked for, at most, where these are more than the least: seconds."""
SIZES = (0.25, 0.5, 1.0)
"""Powers that are tried, first above 0, then below, as long as each is better than the one before."""
SURELY = 2.5
"""Standard errors by which ranks must be better by weights: their logarithms, which tell more surely than their reciprocals."""
Ranks = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Found:
    """A power of weights, and the mean reciprocal ranks of ends of links that were left out, by it and ``alike``, without."""

    power: float
    by_weights: float
    alike: float


def with_power(dataset: Dataset, config: Config) -> Config:
    """Return the configuration with a number for `training.weight_power`. Raises UserError for a damaged dataset, and where edges
    without weights would be trained by weight."""
    asked, weighed = config.training.weight_power, "weight" in dataset.manifest.carried
    if asked != "auto":
        if power_of(config) and not weighed:
            raise UserError(
                f"{dataset.path}: `training.weight_power` is {asked:g}, but its edges have no weights: preprocess edges with "
                "weights (`--columns`), or leave it out"
            )
        return config
    power = _told(dataset, config) if weighed and config.task == "link_prediction" else 0.0
    return config.model_copy(update={"training": config.training.model_copy(update={"weight_power": power})})


def _told(dataset: Dataset, config: Config) -> float:
    """Return the power, and say why."""
    memory = config.storage.memory
    count = dataset.manifest.edges["train"]
    if count > MOST_EDGES or EDGE_BYTES * count > SHARE * (machine.available_memory() if memory == "auto" else memory):
        log.info(
            f"all edges count alike, whatever their weights: {count:,} are too many to find out what these say; --set "
            "training.weight_power=1 trains edges in proportion to them"
        )
        return 0.0
    found = weight_power(dataset)
    if found is None:
        log.info(
            "all edges count alike, whatever their weights: walks over training links do not find links that were left out "
            "surely better by them; --set training.weight_power=1 trains edges in proportion to them all the same"
        )
        return 0.0
    log.info(
        f"training.weight_power={found.power:g}: walks over training links find links that were left out with a mean reciprocal "
        f"rank of {found.by_weights:.3f} by that power of the weights, and of {found.alike:.3f} without; --set "
        "training.weight_power=0 trains all edges alike"
    )
    return found.power


def weight_power(dataset: Dataset) -> Found | None:
    """Return the power by which walks are surely better. None where they are not, and where there are few links."""
    all_links = weighed_links(dataset)
    links = all_links.links
    held = min(HELD, len(links) // 8, max(LEAST_HELD, NUMBERS // max(1, all_links.nodes, len(links) // 40)))
    if held < FEWEST or all_links.weights.min() == all_links.weights.max():
        return None
    walks = Walks(all_links.nodes, links[held:], links[:held])

    def ranks(power: float) -> Ranks:
        """Return the reciprocal ranks, (2, held): by walks of two and four steps, and by those of three."""
        counted = shares(all_links.weights.copy(), power) if power else np.ones_like(all_links.weights)
        return np.stack(walks.reciprocal_ranks(all_links.summed(counted)[held:]))

    alike = ranks(0.0)
    power, by_power = 0.0, alike
    for sign in (1.0, -1.0):
        for size in SIZES:
            found = ranks(sign * size)
            if _mean(found) <= _mean(by_power):
                break
            power, by_power = sign * size, found
        if power:
            break
    more = (np.log(by_power) - np.log(alike)).mean(0)
    sure = more.mean() > SURELY * more.std() / held**0.5
    return Found(power, _mean(by_power), _mean(alike)) if power and sure else None


def _mean(ranks: Ranks) -> float:
    """Return the mean reciprocal rank by the walks that are better."""
    return float(ranks.mean(1).max())
