"""The representation that a configuration asks for, over a run's rows, and what its batches take on a device."""

from __future__ import annotations

from marius_lite.config.encoder_memory import encoder_device_bytes, resident
from marius_lite.config.memory import device_bytes, packet_bytes
from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import Accelerator
from marius_lite.device.open import Needs
from marius_lite.encode.encoders import normalized_columns
from marius_lite.encode.neighbourhoods import open_neighbourhoods
from marius_lite.encode.representation import Encoded, Representation, RowsThemselves
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.nn.encoders import CustomEncoder, Encoder
from marius_lite.rows.resident import ResidentRows


def represent(rows: ResidentRows, accelerator: Accelerator | None, dataset: Dataset, config: Config,
              encoder: Encoder | CustomEncoder | None, dropout: float) -> Representation:
    """``dropout``: share of the numbers that the encoder begins with to set to zero."""
    if encoder is None:
        return RowsThemselves(rows)
    neighbourhoods = open_neighbourhoods(accelerator, dataset, config)
    return Encoded(rows, encoder, neighbourhoods, normalized_columns(dataset, config), dropout)


def device_needs(dataset: Dataset, config: Config) -> Needs:
    """Of batches on a device."""
    facts, capacity, batch = facts_of(dataset, config, cuda=True), int(config.storage.capacity), config.training.batch_size
    planning, nodes = planning_of(config), resident(facts, capacity).nodes
    if config.encodes:
        return Needs(encoder_device_bytes(config, planning.encoder_sizes(config, facts, capacity), 0))
    places = planning.seeds(config, batch, nodes)
    return Needs(device_bytes(config, facts.stride, 0, nodes), places, packet_bytes(batch, places))
