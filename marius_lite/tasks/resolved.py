"""Replace every ``auto`` of a configuration, for a dataset on this machine."""

from __future__ import annotations

from marius_lite.config.memory import MemoryPlan, scored_shape
from marius_lite.config.planning import planning_of
from marius_lite.config.resolve import resolve
from marius_lite.config.schema import Config
from marius_lite.device.library import usable
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.graph.weight_power import with_power
from marius_lite.graph.weight_unit import with_unit
from marius_lite.nn.decoders import decoder_class
from marius_lite.nn.evaluable import with_encoder
from marius_lite.nn.losses import LOSSES
from marius_lite.nn.products import fastest_library
from marius_lite.nn.ways import chosen_way, timed_rates
from marius_lite.tasks.link_model import loss_of


def resolved(dataset: Dataset, config: Config) -> tuple[Config, MemoryPlan]:
    """Return the configuration without ``auto``, and its memory, as `config.resolve.resolve` does."""
    config = with_power(dataset, with_unit(dataset, config))
    found, memory = resolve(config, with_encoder(config, facts_of(dataset, config, usable())))
    training = found.training
    if training.products == "auto":
        training = training.model_copy(update={"products": fastest_library()})
    if training.scoring != "torch":
        training = training.model_copy(update={"scoring": _scoring(dataset, found)})
    return found.model_copy(update={"training": training}), memory


def scoring_rates(dataset: Dataset, config: Config) -> dict[str, int]:
    """Return the GFLOP/s of one thread in each way to compute a resolved configuration's scores; none where nothing is timed."""
    if not _scores_on_cpu(config):
        return {}
    found = timed_rates(config.training.precision, _similarity(config), loss_of(config), _shape(dataset, config))
    return {way: round(rate) for way, rate in found.items()}


def _scoring(dataset: Dataset, config: Config) -> str:
    """Return how scores are computed, for a configuration that has everything else: as it says, or by measurement.

    What native code does not have is left to torch, whatever is asked for.
    """
    if not _scores_on_cpu(config):
        return "torch"
    asked, similarity, loss = config.training.scoring, _similarity(config), loss_of(config)
    if asked == "auto":
        return chosen_way(config.training.precision, similarity, loss, _shape(dataset, config))
    return asked if similarity == "inner" and loss.native else "torch"


def _scores_on_cpu(config: Config) -> bool:
    """Return whether there is something to choose: a task may train edges with a loss of its own."""
    return planning_of(config).unit == "edges" and config.device == "cpu" and config.loss.name in LOSSES


def _similarity(config: Config) -> str:
    return decoder_class(config.model.decoder).similarity


def _shape(dataset: Dataset, config: Config) -> tuple[int, int, int]:
    return scored_shape(config, resident_nodes(dataset, config))


def resident_nodes(dataset: Dataset, config: Config) -> int:
    """Return how many nodes are in memory with a resolved configuration, as if the last partition were as large as the others."""
    return int(config.storage.capacity) * dataset.partitioning.rows
