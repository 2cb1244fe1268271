"""Count what a batch puts on a GPU, without a GPU: launches, host calls, waits, bytes that cross the link.

    python scripts/bench/device_counts.py [--batches 1000,10000,50000] [--chunks 1,10] [--relations 1,1000]

A batch runs through the GPU's data path, whose kernels run on this processor, and through the branches of the model for tensors
on a GPU. Every call of torch that computes something counts as a launch, and so does every call of the native library. Torch's
sort and its accumulating index_put_ are several kernels each, counted as such. Then the same where a batch's work is repeated as
a graph, which is one launch. The last two columns tell of the host's time, in both ways: a batch of as many chunks, with two
edges in each, where computing takes next to nothing; what a graph does is left out. The last line is of GraphSAGE; Adam's step
counts for each weight there, while on a GPU torch takes all weights together. These are counts, no measurements of a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from counting import Counting, CountingLibrary, Counts
from machine_facts import cpu_name
from torch.utils._python_dispatch import _disable_current_modes

sys.path += [str(Path(__file__).parents[2] / "tests" / part) for part in ("", "device")]

from emulated import accelerator
from host_library import build_host_library
from open_parts import open_parts
from pretended_gpu import pretended_gpu

from marius_lite._native import CudaLibrary
from marius_lite.config.memory import LOOK_BACK
from marius_lite.device.arrived import Learned
from marius_lite.device.batches import DeviceBatches, NewBatch
from marius_lite.device.links import ZeroCopy
from marius_lite.device.replay import SEEN
from marius_lite.device.rows import DeviceTable, RowForm, RowStepSettings
from marius_lite.device.sent import Repeated
from marius_lite.nn.model import LinkPredictionModel, Objective
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.preprocess import make_dataset
from marius_lite.rows.batch import Grouped
from marius_lite.rows.on_device import OnDevice
from marius_lite.sampling.batch_rows import RowTracker
from marius_lite.sampling.negatives import NegativeSampler, ResidentNodes
from marius_lite.storage.record import record_of
from marius_lite.train import build
from marius_lite.types import DeviceBatch, EdgeBatch


@dataclass(frozen=True)
class Shape:
    batch: int
    chunks: int
    relations: int
    negatives: int = 1000
    dim: int = 100
    nodes: int = 100_000


class Training:
    """Batches of a shape over the emulated device."""

    def __init__(self, library: CudaLibrary, shape: Shape, decoder: str, graphs: bool = False, runs: bool = True):
        self.shape, self.counts, self.graphs = shape, Counts(), graphs
        device, _ = accelerator(CountingLibrary(library, self.counts), seed=0)
        device = replace(device, capture=partial(self._capture, runs))
        record = record_of("row_adagrad", shape.dim)
        table = np.random.default_rng(0).normal(0, 0.1, (shape.nodes, record.width)).astype(np.float32)
        table[:, shape.dim :] = 0
        step = RowStepSettings.of("row_adagrad", ROW_OPTIMIZERS["row_adagrad"](), 0.1)
        link = ZeroCopy(device, table, shape.nodes, 8, 1)
        self._table = DeviceTable(device, link, None, RowForm(shape.dim), record.width, step)
        self._batches, self._tracker = DeviceBatches(device, [self._table]), RowTracker(LOOK_BACK, self._table.hot)
        generator = np.random.default_rng(1)
        self._model = LinkPredictionModel(decoder, shape.relations, shape.dim, generator, Objective(), reciprocal=True)
        self._optimizer = DenseOptimizer("adagrad", self._model, 0.1)
        self._sampler = NegativeSampler(shape.negatives, shape.chunks, 0, 0)
        self._resident = ResidentNodes((0,), shape.nodes, shape.nodes, np.zeros(1, np.int64))
        self._number = 0

    def batch(self) -> None:
        """Train one batch."""
        self.prepared()()

    def prepared(self) -> Callable[[], None]:
        """Make what another thread makes ahead for a batch. Returns what trains it."""
        rng, shape = np.random.default_rng(self._number), self.shape
        src, dst = rng.integers(shape.nodes, size=(2, shape.batch))
        sampled = self._sampler.sample(
            EdgeBatch(0, 0, self._number, src, dst, rng.integers(shape.relations, size=shape.batch)), self._resident
        )
        rows = self._tracker.track(sampled.places)
        self._number += 1

        relations = Grouped.of(self._model.relations_asked(sampled.edges.rel, 2), len(self._model.relations))

        def learn(arrived: Any) -> Any:
            by_relation = partial(relations.sum, OnDevice(self._batches.accelerator, arrived))
            batch = DeviceBatch.of(sampled, arrived.values[0], arrived.tensor("rel"), by_relation)
            loss, grads = self._model.gradients(batch)
            self._optimizer.step()
            return loss, grads

        def train() -> None:
            alike, seed = (shape, relations.pieces), partial(self._model.seed, sampled.seed)
            work = Repeated(alike, seed, learn, self._optimizer.repeated, self._model.generators) if self.graphs else learn
            self._batches.begin([NewBatch([rows], {"rel": sampled.edges.rel, **relations.arrays}, work)])()

        return train

    def _capture(self, runs: bool, work: Callable[[], Learned], generators: Any) -> tuple[Learned, Callable[[], None]]:
        """Stand for a graph: what repeats the work counts as one launch. ``runs``: whether the work is done."""
        first = work()

        def repeat() -> None:
            before = self.counts.launches, self.counts.calls, self.counts.names.copy()
            if runs:
                with _disable_current_modes():
                    loss, grads = work()
                    for old, new in zip((first[0], *first[1]), (loss, *grads), strict=True):
                        old.copy_(new)
            self.counts.launches, self.counts.calls, self.counts.names = before[0] + 1, before[1] + 1, before[2]
            self.counts.names["graph"] += 1

        return first, repeat

    def on_host(self) -> set[int]:
        return on_host(self._batches, self._optimizer)

    def close(self) -> None:
        self._batches.close()


def on_host(batches: DeviceBatches, optimizer: DenseOptimizer) -> set[int]:
    """The addresses of what is read on the host: losses that have come down, and the optimizer's numbers of steps."""
    steps = [state["step"] for state in optimizer._torch.state.values()] if optimizer._torch else []
    return {tensor.data_ptr() for tensor in (*(slot.losses for slot in batches._ring), *steps)}


@contextmanager
def training(library: CudaLibrary, shape: Shape, decoder: str, graphs: bool = False, runs: bool = True) -> Iterator[Training]:
    """Open batches whose first ones, which make memory and graphs, are over."""
    made = Training(library, shape, decoder, graphs, runs)
    try:
        with pretended_gpu(CountingLibrary(library, made.counts)):
            for _ in range(2 * SEEN + 4):  # sums of relations have two forms
                made.batch()
            yield made
    finally:
        made.close()


def counted(library: CudaLibrary, shape: Shape, decoder: str = "complex", graphs: bool = False) -> Counts:
    """What a batch of a shape puts on the device."""
    with training(library, shape, decoder, graphs) as made:
        before = made.counts.launches, made.counts.calls, made.counts.up, made.counts.down
        made.counts.names.clear()
        with Counting(made.counts, made.on_host()):
            made.batch()
        found = made.counts
        found.launches, found.calls = found.launches - before[0], found.calls - before[1]
        found.up, found.down = found.up - before[2], found.down - before[3]
        return found


def host_ms(
    library: CudaLibrary, chunks: int, relations: int, decoder: str = "complex", graphs: bool = False, rounds: int = 50
) -> float:
    """The host's milliseconds of a batch that computes next to nothing."""
    shape = Shape(2 * chunks, chunks, relations, negatives=2, dim=4, nodes=1000)
    with training(library, shape, decoder, graphs, runs=False) as made:
        taken = []
        for _ in range(5):
            prepared = [made.prepared() for _ in range(rounds)]
            start = time.thread_time()  # which takes a while itself on some machines
            for train in prepared:
                train()
            taken.append((time.thread_time() - start) / rounds)
        return 1e3 * statistics.median(taken)


def sage_dataset(folder: Path, nodes: int, edges: int) -> Path:
    """A random graph with 128 features and 10 classes, in one partition."""
    rng = np.random.default_rng(0)
    for name, array in {
        "edges": rng.integers(nodes, size=(edges, 2)),
        "x": rng.normal(size=(nodes, 128)).astype(np.float32),
        "y": rng.integers(10, size=nodes),
    }.items():
        np.save(folder / f"{name}.npy", array)
    data = {"features": folder / "x.npy", "labels": folder / "y.npy", "node_split": "0.8,0.1,0.1", "adjacency": "in"}
    make_dataset(folder / "edges.npy", folder / "dataset", partitions=1, **data)
    return folder / "dataset"


def counted_sage(library: CudaLibrary, dataset: Path, fanouts: str = "15,10,5", seeds: int = 1000) -> Counts:
    """What a batch of GraphSAGE with layers 128 wide puts on the device, on features that are read over the link."""
    counts = Counts()
    layers = ",".join(["128"] * fanouts.count(","))
    sets = [
        *("task=node_classification", "model.encoder=sage", f"model.layers=[{layers}]", f"sampling.fanouts=[{fanouts}]"),
        *(f"training.batch_size={seeds}", "training.threads=1", "model.inputs=features", "storage.device_path=zero_copy"),
        *("optimizer.dense.name=adam", "optimizer.dense.lr=0.003", "evaluation.every_epochs=0"),
    ]
    opened = build.open_accelerator
    build.open_accelerator = lambda device: accelerator(CountingLibrary(library, counts), seed=0)[0]  # type: ignore[attr-defined]
    try:
        with open_parts(dataset, *sets) as parts:
            work = parts.work
            step = work.plan(0).steps[0]
            work.enter(step, None)
            stages = work.stages()
            for number, batch in enumerate(work.open(0, work.windows(step)[0], None).batches(0)):
                prepared = stages.sample(batch)
                last = number == 3  # the first ones make memory
                if last:
                    counts.launches = counts.calls = counts.up = counts.down = 0
                    counts.names.clear()
                host = on_host(work.rows._batches, parts.optimizer)  # type: ignore[attr-defined]
                with pretended_gpu(library), Counting(counts, host) if last else nullcontext():
                    stages.begin([stages.track(prepared)])()
                if last:
                    return counts
    finally:
        build.open_accelerator = opened  # type: ignore[attr-defined]
    raise ValueError(f"{dataset}: fewer than 4 batches of {seeds} training nodes")


def tell_names(found: Counts) -> None:
    print(*(f"  {count:4} {name}" for name, count in found.names.most_common()), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", default="1000,10000,50000")
    parser.add_argument("--chunks", default="1,10")
    parser.add_argument("--relations", default="1,1000")
    parser.add_argument("--decoder", default="complex")
    parser.add_argument("--names", action="store_true", help="which calls they are")
    a = parser.parse_args()
    torch.set_num_threads(1)
    sizes, chunks, relations = ([int(part) for part in text.split(",")] for text in (a.batches, a.chunks, a.relations))
    print(f"{cpu_name()}, torch {torch.__version__}, {a.decoder}, dim 100, 1,000 negatives a chunk, reciprocal, softmax")
    heads = ("edges", "chunks", "relations", "launches", "with graphs", "calls", "with graphs", "waits", "MB up", "MB down")
    print("|", *(f"{head} |" for head in (*heads, "host ms, tiny", "with graphs")))
    print("|" + "---|" * 12)
    with tempfile.TemporaryDirectory() as folder:
        library = CudaLibrary(str(build_host_library(Path(folder))))
        for shape in (Shape(b, c, r) for b in sizes for c in chunks for r in relations):
            found, graph = counted(library, shape, a.decoder), counted(library, shape, a.decoder, graphs=True)
            ms = [host_ms(library, shape.chunks, shape.relations, a.decoder, graphs) for graphs in (False, True)]
            row = (
                f"{shape.batch:,}",
                shape.chunks,
                f"{shape.relations:,}",
                found.launches,
                graph.launches,
                found.calls,
                graph.calls,
            )
            rest = (found.waits, f"{found.up / 1e6:.2f}", f"{found.down / 1e6:.2f}", *(f"{each:.2f}" for each in ms))
            print("|", *(f"{cell} |" for cell in (*row, *rest)))
            if a.names:
                tell_names(found)
        found = counted_sage(library, sage_dataset(Path(folder), 100_000, 2_000_000))
        row = (found.launches, found.calls, found.waits, f"{found.up / 1e6:.2f}", f"{found.down / 1e6:.2f}")
        print("GraphSAGE, 1,000 seeds, fanouts 15, 10, 5, 128 features: launches, calls, waits, MB up, MB down", *row, sep=" | ")
        if a.names:
            tell_names(found)


if __name__ == "__main__":
    main()
