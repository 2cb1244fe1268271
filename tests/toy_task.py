"""A task made outside of the package: rows learn to be near the mean of the nodes that edges lead to. One file, one line."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import torch

from marius_lite.config.link_planning import LinkPlanning
from marius_lite.config.tasks import TASKS, TaskPlaces
from marius_lite.rows.batch import PreparedBatch
from marius_lite.sampling.windows import Cut, WindowReader, batch_slices, to_rows, windows_of
from marius_lite.tasks.task import Exported
from marius_lite.types import EdgeBatch


def register(monkeypatch):
    monkeypatch.setitem(TASKS, "toy", TaskPlaces("toy_task:ToyPlanning", "toy_task:Toy"))


class ToyPlanning(LinkPlanning):
    """Its memory and its plans are those of link prediction."""

    metrics = ("distance",)
    losses = ("squares",)


class ToyModel(torch.nn.Module):
    encoder = None

    def __init__(self, dim):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.zeros(dim))


class Toy:
    def make_model(self, dataset, config, trains):
        return ToyModel(config.model.dim)

    def loads(self, dataset, config):
        return []

    def leaks(self, dataset, split=None):
        return []

    def learning(self, setting, rows, representation, model):
        return ToyLearning(setting, rows, representation, model)

    def evaluate(self, found, split, exclude_self):
        return {"split": split, "distance": 0.0}

    def exported_width(self, found):
        return found.config.model.dim

    @contextmanager
    def exported(self, found):
        yield Exported([], {}, {"task": "toy"})


class ToyWindow:
    def __init__(self, window, batches, nodes):
        self.window, self._batches, self._nodes = window, batches, nodes

    def batches(self, start):
        return (batch for batch in self._batches if batch.index >= start)

    def touched(self):
        return self._nodes


class ToyLearning:
    def __init__(self, setting, rows, representation, model):
        self.setting, self.rows, self.representation, self.model = setting, rows, representation, model
        self.edges = setting.dataset.edges("train")
        memory, seed = setting.memory, setting.config.training.seed
        self.reader = WindowReader(self.edges, memory.window_edges, seed, memory.orders_ahead)
        self.items = self.edges.total

    def enter(self, step):
        pass

    def windows(self, step):
        return windows_of(step, self.edges.counts, self.setting.memory.window_edges, Cut(self.setting.config.training.batch_size))

    def open(self, epoch, window, following):
        edges = self.reader.take(epoch, window)
        to_rows(edges, self.edges.counts, self.rows.base_rows())
        batches = [
            EdgeBatch(
                epoch,
                window.step,
                index,
                *(column[edges.order[part]].astype(np.int64) for column in (edges.src, edges.dst, edges.rel)),
            )
            for index, part in batch_slices(window, 0)
        ]
        return ToyWindow(window, batches, self.rows.node_ids(edges.src.astype(np.int64)))

    def later(self, epoch):
        return ()

    def foresee(self, batches):
        """Each batch draws by itself."""

    def prepare(self, batch):
        places = self.representation.prepare(np.concatenate([batch.src, batch.dst]), (batch.src, batch.dst), 0)
        return PreparedBatch(batch, places, places.rows, places.arrays)

    def gradients(self, prepared, arrived):
        vectors = self.representation.vectors(prepared.sampled, arrived, 0)
        src, dst = vectors.values.chunk(2)
        difference = src + self.model.shift.detach() - dst
        self.model.shift.grad = 2 * difference.sum(0)
        return difference.square().mean().double(), vectors.backward([2 * difference, -2 * difference])

    def evaluate(self):
        self.rows.release()
        return {"split": "valid", "distance": float(self.model.shift.detach().norm())}

    def close(self):
        self.reader.close()
