"""What a run will take, before it runs: memory, disk, swaps, and bytes moved in each epoch. Counted from the real plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from marius_lite.config import machine
from marius_lite.config.load import load
from marius_lite.config.memory import EVALUATION_BYTES, MemoryPlan
from marius_lite.config.resolve import Facts, resolve
from marius_lite.config.schedule import checkpoint_due, evaluation_due
from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.ordering.plan import make_plan
from marius_lite.storage.record import record_of
from marius_lite.types import EpochPlan

EDGE_BYTES_ON_DISK = 12
EPOCHS_COUNTED = 10


def facts_of(dataset: Dataset, config: Config, cuda: bool) -> Facts:
    """What `resolve` needs to know, from the manifest and this machine."""
    record = record_of(config.optimizer.rows.name, config.model.dim)
    return Facts(nodes=dataset.manifest.nodes, relations=dataset.manifest.relations,
                 partitions=dataset.partitioning.partitions, rows_per_partition=dataset.partitioning.rows,
                 bucket_counts=dataset.edges("train").counts, stride=record.stride,
                 available_memory=machine.available_memory(), threads=machine.cpu_threads(), cuda=cuda)
