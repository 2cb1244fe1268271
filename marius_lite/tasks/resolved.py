"""Replace every ``auto`` of a configuration, for a dataset on this machine."""

from __future__ import annotations

from marius_lite.config.memory import MemoryPlan
from marius_lite.config.resolve import resolve
from marius_lite.config.schema import Config
from marius_lite.device.library import usable
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.nn.evaluable import with_encoder


def resolved(dataset: Dataset, config: Config) -> tuple[Config, MemoryPlan]:
    """Return the configuration without ``auto``, and its memory, as `config.resolve.resolve` does."""
    return resolve(config, with_encoder(config, facts_of(dataset, config, usable())))
