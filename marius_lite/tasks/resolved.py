"""Replace every ``auto`` of a configuration, for a dataset on this machine."""

from __future__ import annotations

from marius_lite.config.memory import MemoryPlan, scored_shape
from marius_lite.config.planning import planning_of
from marius_lite.config.resolve import resolve
from marius_lite.config.schema import Config
from marius_lite.device.library import usable
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.nn.decoders import decoder_class
from marius_lite.nn.evaluable import with_encoder
from marius_lite.nn.ways import chosen_way


def resolved(dataset: Dataset, config: Config) -> tuple[Config, MemoryPlan]:
    """Return the configuration without ``auto``, and its memory, as `config.resolve.resolve` does."""
    found, memory = resolve(config, with_encoder(config, facts_of(dataset, config, usable())))
    if found.training.scoring != "auto":
        return found, memory
    training = found.training.model_copy(update={"scoring": _scoring(dataset, found)})
    return found.model_copy(update={"training": training}), memory


def _scoring(dataset: Dataset, config: Config) -> str:
    """Return how scores are computed, by measurement, for a configuration that has everything else."""
    if planning_of(config).unit != "edges" or config.device != "cpu":
        return "torch"
    shape = scored_shape(config, int(config.storage.capacity) * dataset.partitioning.rows)
    similarity = decoder_class(config.model.decoder).similarity
    return chosen_way(config.training.precision, similarity, config.loss.name, shape)
