"""Make the rows that the layers of an encoder are trained on, one layer after another, out of core.

Each layer needs one pass over the graph: all nodes take from their neighbours once. The next layer's pass begins with what this
layer, once trained, makes of these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite import files
from marius_lite.config.schema import Config
from marius_lite.encode.normalization import normalization
from marius_lite.encode.vectors import InputRows, inference_bytes
from marius_lite.evaluate.inference import infer
from marius_lite.evaluate.layer_inputs import RowsOfPartition
from marius_lite.graph.adjacency import Adjacency, PartitionLists
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.gathered import GatheredDataset
from marius_lite.graph.inputs import lists_read
from marius_lite.nn.allocator import give_back
from marius_lite.nn.encoders import Layered
from marius_lite.nn.encoders.base import Encoder
from marius_lite.nn.encoders.one_layer import Gathering, RowLayer, RowModel
from marius_lite.nn.encoders.propagated import Propagated, PropagatedRows, Propagation
from marius_lite.nn.inputs import as_they_are
from marius_lite.sampling.neighbours import true_degrees
from marius_lite.seeds import seed_for

PART_BYTES = 4 << 20
"""Bytes of gathered rows that are mapped at a time. Results must not depend on the memory, so it is always as many."""


class LayerScores:
    """The scores that a layer gives for rows it has gathered. ``dataset``: see `GatheredDataset`."""

    def __init__(self, dataset: Dataset, layer: RowModel):
        assert dataset.features is not None
        self._table, self._layer = dataset.features.table, layer

    def read_rows(self, k: int, offsets: npt.NDArray[np.int64], columns: slice) -> npt.NDArray[np.float32]:
        """Return columns of the scores of partition k's nodes at ascending ``offsets``."""
        width = self._layer.in_width
        step = max(1, PART_BYTES // (4 * width))
        # Without any offset there is one part, whose scores have no rows but all columns.
        parts = [offsets[first : first + step] for first in range(0, max(1, len(offsets)), step)]
        found = [self._scores(self._table.read_rows(k, part, slice(0, width))) for part in parts]
        scores: npt.NDArray[np.float32] = np.concatenate(found)[:, columns]
        return scores

    @torch.no_grad()
    def _scores(self, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        device, training = next(self._layer.parameters()).device, self._layer.training
        scores: npt.NDArray[np.float32] = self._layer.eval().scores(torch.from_numpy(rows).to(device)).cpu().numpy()
        self._layer.train(training)
        return scores


class MappedRows:
    """What a trained layer makes of the rows it has gathered, read by partition: the input of the next layer."""

    def __init__(self, dataset: GatheredDataset, layer: RowLayer):
        assert dataset.features is not None
        self._table, self._layer = dataset.features.table, layer.eval()

    @torch.no_grad()
    def read(self, k: int) -> npt.NDArray[Any]:
        size, width, device = self._table.size(k), self._layer.in_width, next(self._layer.parameters()).device
        results = np.empty((size, self._layer.encoder.widths[self._layer.place]), np.float32)
        for first, block in self._table.node_blocks(k, PART_BYTES):
            rows = torch.from_numpy(np.ascontiguousarray(block[:, :width])).to(device)
            results[first : first + len(rows)] = self._layer.results(rows).cpu().numpy()
        return results


class Layers:
    """The layers of an encoder, with what each is trained on. ``folder``: where tables of rows lie meanwhile.

    ``classes``: how many scores a layer's head gives.
    """

    def __init__(self, dataset: Dataset, config: Config, encoder: Encoder | Propagated, classes: int, folder: Path):
        self._dataset, self._config, self._encoder, self._classes, self._folder = dataset, config, encoder, classes, folder
        lists = lists_read(dataset, config)
        assert lists is not None
        self._lists = lists
        self._degrees = true_degrees(lists, dataset.partitioning) if encoder.degrees else None
        self._reached: tuple[GatheredDataset, RowModel] | None = None

    def at(self, layer: int, check: Callable[[], object] = lambda: None) -> tuple[GatheredDataset, RowModel]:
        """Return what a layer is trained on, and the layer. All layers before it must be trained.

        Those are passed one after another. A layer that was reached is not passed again. ``check`` is called now and then; it may
        raise.
        """
        reached = self._reached
        while reached is None or reached[1].place < layer:
            reached = self._after(reached, check)
        self._reached = reached
        return reached

    def _after(
        self, before: tuple[GatheredDataset, RowModel] | None, check: Callable[[], object]
    ) -> tuple[GatheredDataset, RowModel]:
        """Return what follows a layer, or the first one."""
        dataset, config, place = self._dataset, self._config, before[1].place + 1 if before else 0
        gathering, path = gathering_of(self._encoder, place), self._folder / f"layer-{place}"
        rows: RowsOfPartition
        if before is None:
            rows, normalize = InputRows(dataset, config, None), normalization(dataset, config)
        else:
            data, layer = before
            assert isinstance(layer, RowLayer)
            rows, normalize = MappedRows(data, layer), as_they_are
        lists = _Checked(self._lists, check)
        give_back()  # the buffers in which the layer before was trained
        table = infer(gathering, rows, lists, dataset.partitioning, inference_bytes(config), path, self._degrees, normalize)
        files.remove_tree(self._folder / f"layer-{place - 1}")
        give_back()  # what follows is trained in buffers of its own
        torch.manual_seed(seed_for(config.training.seed, "head", place))
        return GatheredDataset(dataset, table, gathering.widths[-1]), row_model(self._encoder, place, self._classes)


def gathering_of(encoder: Encoder | Propagated, place: int) -> Layered:
    """Return what all nodes do before a layer is trained; where hops have no weights, all of them are before the first."""
    return Propagation(encoder) if isinstance(encoder, Propagated) else Gathering(encoder, place)


def row_model(encoder: Encoder | Propagated, place: int, classes: int) -> RowModel:
    """Return what is trained on rows that `gathering_of` gave."""
    return PropagatedRows(encoder) if isinstance(encoder, Propagated) else RowLayer(encoder, place, classes)


class _Checked:
    """Reads in-edge lists, and calls ``check`` before each."""

    def __init__(self, lists: Adjacency, check: Callable[[], object]):
        self._lists, self._check = lists, check
        self.edges, self.weighs = lists.edges, lists.weighs

    def read(self, k: int, *, relations: bool = True) -> PartitionLists:
        self._check()
        return self._lists.read(k, relations=relations)
