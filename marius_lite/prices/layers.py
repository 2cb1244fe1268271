"""Price the training of one layer after another: passes in which all nodes take from all their neighbours, then rows alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from marius_lite._native import add_block
from marius_lite.config import layerwise
from marius_lite.config.memory import MemoryPlan
from marius_lite.config.schema import Config
from marius_lite.config.sizes import padded_width
from marius_lite.encode.vectors import inference_bytes
from marius_lite.evaluate.layer_pass import IN_MEMORY_SHARE
from marius_lite.evaluate.summed_pass import BLOCK_SHARE, LARGEST_BLOCK, LEAST_BLOCK
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.gathered import GatheredDataset
from marius_lite.graph.inputs import input_width, lists_read
from marius_lite.nn.encoders.one_layer import RowLayer
from marius_lite.prices.batches import batch_times
from marius_lite.prices.disk import DiskRates
from marius_lite.storage.table import RowTable
from marius_lite.tasks.node_model import layer_classifier
from marius_lite.train.build import first_model

SECONDS = 0.4
"""How long rows are added to a partition's sums, about."""


def widths_of(data: Dataset, config: Config) -> list[tuple[int, int]]:
    """Return of each layer how many numbers of a node it gets, and how many nodes gather for it."""
    times = layerwise.GATHERED[config.model.encoder]
    return [(width, times * width) for width in (input_width(data, config), *config.model.layers)]


def groups(data: Dataset, config: Config, width: int) -> int:
    """Return how often a pass reads its rows: once for each group of nodes whose sums and lists fit in memory."""
    lists, nodes, memory = lists_read(data, config), data.manifest.nodes, inference_bytes(config)
    assert lists is not None
    taken = nodes * (4 * width + 20) + int(lists.starts[-1]) * (4 + 4 * lists.weighs)
    return max(1, -(-taken // max(1, memory - _in_memory(data, config, width))))


def pass_bytes(data: Dataset, config: Config) -> int:
    """Return the bytes that all passes of a run read from disk: features or the rows before, lists, and rows that do not stay."""
    nodes, lists, stored, total = data.manifest.nodes, lists_read(data, config), data.features, 0
    assert lists is not None
    assert stored is not None
    before = nodes * stored.table.stride
    for width, gathered in widths_of(data, config):
        held = _in_memory(data, config, width) > 0
        total += before + sum(lists.read_bytes(k) for k in range(lists.partitioning.partitions))
        total += 0 if held else groups(data, config, width) * 4 * width * nodes
        before = nodes * 4 * padded_width(gathered, np.float32)
    return total


def layers_seconds(data: Dataset, config: Config, memory: MemoryPlan, rates: DiskRates, folder: Path) -> float:
    """Return the seconds of an epoch, on average over a run: its share of the passes, and of what the layers train.

    ``folder``: where a table without bytes may be meanwhile.
    """
    nodes, total = data.manifest.nodes, pass_bytes(data, config) / rates.read
    model, count, epochs = first_model(data, config), layerwise.layers(config), config.training.epochs
    batches = -(-data.node_counts["train"] // config.lane_batch)
    for layer, (width, gathered) in enumerate(widths_of(data, config)):
        written = 4 * nodes * (width + gathered)
        total += nodes * _added(data, config, width) + written * rates.pack
        ends = layerwise.first_epoch(config, layer + 1) if layer + 1 < count else epochs
        both = _learned(data, config, memory, model, (layer, gathered), folder)
        total += (ends - layerwise.first_epoch(config, layer)) * batches * both
    return total / epochs


def _in_memory(data: Dataset, config: Config, width: int) -> int:
    """Return the bytes that the rows of a pass's input take in memory: none where they lie in a table on disk."""
    size = 4 * width * data.manifest.nodes
    return size if size <= inference_bytes(config) * IN_MEMORY_SHARE else 0


def _learned(data: Dataset, config: Config, memory: MemoryPlan, model: Any, layer: tuple[int, int], folder: Path) -> float:
    """Return the seconds of a batch of a layer, given its place and how many numbers nodes gather for it."""
    place, width = layer
    p, path = data.partitioning, folder / f"layer-{place}"
    table = RowTable.create(path, data.manifest.nodes, padded_width(width, np.float32), p.rows)
    table = table.expecting(dict.fromkeys(range(p.partitions), 0))
    classifier = layer_classifier(model, RowLayer(model.encoder, place, data.required_labels().classes))
    return batch_times(GatheredDataset(data, table, width), layerwise.of_layer(config, place), memory, classifier, folder).both


def _added(data: Dataset, config: Config, width: int) -> float:
    """Return the seconds to add a node's row to the sums of all nodes. A partition takes from blocks all over the graph."""
    lists, p = lists_read(data, config), data.partitioning
    assert lists is not None
    found, step = lists.read(k := p.partitions // 2, relations=False), _block(config) // (4 * width)
    step = min(max(1, step), p.nodes)
    factors, sums = (1 / np.diff(found.indptr).clip(1)).astype(np.float32), np.zeros((p.size(k), width), np.float32)
    rows, seconds, done = np.zeros((step, width), np.float32), 0.0, 0
    for first in np.random.default_rng(0).permutation(np.arange(0, p.nodes, step)).tolist():
        before = np.concatenate([[0], np.cumsum(found.sources < first)])
        begins = found.indptr[:-1] + before[found.indptr[1:]] - before[found.indptr[:-1]]
        start = time.perf_counter()
        add_block(rows[: p.nodes - first], first, found.indptr, found.sources, factors, begins, sums, None, -1, found.factors)
        seconds, done = seconds + time.perf_counter() - start, done + min(step, p.nodes - first)
        if seconds > SECONDS:
            break
    return seconds / done * p.partitions


def _block(config: Config) -> int:
    """Return the bytes of rows that a pass takes at a time."""
    return min(max(inference_bytes(config) // BLOCK_SHARE, LEAST_BLOCK), LARGEST_BLOCK)
