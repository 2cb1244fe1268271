"""Turn ``sampling.fanouts`` into what the sampler takes: relations by id instead of name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from marius_lite.config.directions import apart
from marius_lite.config.encoder_memory import fanouts_of
from marius_lite.config.model_sections import DEFAULT
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset

Fanout = int | npt.NDArray[np.int64]
"""How many edges a node draws at a hop: one number in all, or one for each relation, (relations,). -1: every edge."""
NAMES_SHOWN = 10
"""Names of relations that an error message lists at most."""


def hop_fanouts(config: Config, dataset: Dataset) -> tuple[Fanout, ...]:
    """Return the fanouts, one for each hop. Raises UserError for a relation that the dataset does not have."""
    asked = fanouts_of(config)
    if all(isinstance(fanout, int) for fanout in asked):
        return tuple(fanout for fanout in asked if isinstance(fanout, int))
    names = [str(name) for name in dataset.relation_names()]
    return tuple(fanout if isinstance(fanout, int) else _by_relation(fanout, names, dataset, config) for fanout in asked)


def _by_relation(fanout: Mapping[str, int], names: list[str], dataset: Dataset, config: Config) -> Fanout:
    known = {DEFAULT, *names}
    for name in (name for name in fanout if name not in known):
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        raise UserError(
            f"`sampling.fanouts` names relation {name!r}, which {dataset.path} does not have: {hint}"
            f"it has {', '.join(map(repr, names[:NAMES_SHOWN]))}{more}"
        )
    numbers = np.array([fanout.get(name, fanout.get(DEFAULT, 0)) for name in names], np.int64)
    if apart(config):  # turned edges are relations of their own
        numbers = np.tile(numbers, 2)
    numbers = np.repeat(numbers, 1 + len(config.model.weight_bounds))  # and so are those of each range of weights
    return int(numbers[0]) if len(numbers) == 1 else numbers  # where there is one relation, the in-edge lists have no relations
