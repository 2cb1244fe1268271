"""What `config.resolve` must know, gathered from a dataset's manifest and from the machine."""

from __future__ import annotations

from marius_lite.config import machine
from marius_lite.config.resolve import Facts
from marius_lite.config.schema import Config
from marius_lite.graph.dataset import Dataset
from marius_lite.storage.record import record_of


def facts_of(dataset: Dataset, config: Config, cuda: bool) -> Facts:
    record = record_of(config.optimizer.rows.name, config.model.dim)
    return Facts(nodes=dataset.manifest.nodes, relations=dataset.manifest.relations, splits=tuple(dataset.manifest.edges),
                 partitions=dataset.partitioning.partitions, rows_per_partition=dataset.partitioning.rows,
                 bucket_counts=dataset.edges("train").counts, stride=record.stride,
                 available_memory=machine.available_memory(), threads=machine.cpu_threads(), cuda=cuda)
