"""What linear models are tried on: a small graph as a whole; of a large one some nodes, with some of their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.drawn_lists import EdgesAtEnd, draw, lists_of_drawn
from marius_lite.graph.feature_sample import Codes, flags, logarithms
from marius_lite.graph.features import Features
from marius_lite.graph.linear_test import MOST_ROWS, LinearTest, linear_test
from marius_lite.graph.whole_lists import UnitOf, WholeLists, is_small, whole_lists, whole_width
from marius_lite.log import log

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
DRAWN_WIDTH = 128
"""The most columns of drawn nodes; wider features become so many of their principal components."""
MOST_BYTES = 50 << 20
"""Features of drawn nodes, at most. A few times as much is there at once."""
MOST_READ = 200_000_000
"""Edges of graphs that are drawn from, at most. To look through them takes a minute."""
FANOUTS = {1: (6, 3), 2: (4, 2)}
"""How many neighbours are drawn of a node, and of these, at each end; by at how many ends."""
BLOCK = 16 << 20
"""Bytes of stored features that are read at a time."""


@dataclass(frozen=True)
class GraphSample:
    """``test``: says how well columns tell classes; its nodes are places among the sample's. ``lists(unit, directions)``: lists
    of its nodes. ``rows(units, codes)``: their features, with `logarithms` of columns that have a unit and `flags` of ``codes``
    beside them, or their principal components.

    ``nodes``: which these are, ascending. ``usual``: places of nodes that are as the graph's are: neighbours of nodes have more
    neighbours. ``whole``: how many columns rows may have where all nodes are there, with all their edges; 0 where they are drawn
    and have two hops.
    """

    test: LinearTest
    nodes: Ints
    usual: Ints
    whole: int
    unit: float | None
    lists: Callable[[float | None, str], WholeLists]
    rows: Callable[[Floats | None, Codes], Floats]

    def facing(self, directions: str) -> WholeLists:
        """Return lists by weights, where edges have some."""
        return self.lists(self.unit, directions)

    def alike(self, directions: str) -> WholeLists:
        """Return lists whose edges all count alike."""
        return self.lists(None, directions)


def graph_sample(dataset: Dataset, directions: Sequence[str], unit_of: UnitOf, memory: int) -> GraphSample | None:
    """Return what is tried of a dataset that has features. ``directions``, ``unit_of``, ``memory``: see `graph.hops.tried`.

    None where there is nothing to try, see `linear_test`, and where a graph has more than MOST_READ edges. Raises UserError for a
    damaged dataset, RunError for a file that cannot be read.
    """
    features, width = dataset.features, whole_width(dataset, memory)
    if features is None or (not width and dataset.manifest.edges["train"] > MOST_READ):
        return None
    if width:
        test = linear_test(dataset)
        if test is not None and not is_small(dataset):
            log.info("linear models are tried on the whole graph, to choose settings; `--config preset:NAME` does without")
        return None if test is None else _whole(dataset, features, test, unit_of(dataset), width)
    ends = ["in", "out"] if set(directions) != {"in"} else ["in"]
    first, second = FANOUTS[len(ends)]
    around = 1 + len(ends) * first * (1 + len(ends) * second)
    nodes = MOST_BYTES // (4 * min(features.width, DRAWN_WIDTH))
    test = linear_test(dataset, min(MOST_ROWS, nodes // (2 * around)))
    if test is not None:
        log.info(
            f"linear models are tried on {len(test.train) + len(test.valid):,} nodes and some of their neighbours, to choose "
            "settings: a quarter of the memory is too little for the whole graph; `--config preset:NAME` does without"
        )
    return None if test is None else _drawn(dataset, features, test, unit_of(dataset), ends)


def _whole(dataset: Dataset, features: Features, test: LinearTest, unit: float | None, width: int) -> GraphSample:
    """Return a sample that is the graph, with rows of so many columns at most: see `whole_width`."""
    nodes = np.arange(dataset.manifest.nodes)

    def blocks() -> Iterator[npt.NDArray[Any]]:
        for k in range(dataset.partitioning.partitions):
            yield from (block for _, block in features.table.node_blocks(k, BLOCK))

    read = cache(partial(whole_lists, dataset))

    def lists(unit: float | None, directions: str) -> WholeLists:
        return read(unit).facing(directions)

    def rows(units: Floats | None, codes: Codes) -> Floats:
        return _narrowed(features, blocks, units, codes, width)

    return GraphSample(test, nodes, nodes, width, unit, lists, rows)


def _drawn(dataset: Dataset, features: Features, test: LinearTest, unit: float | None, ends: Sequence[str]) -> GraphSample:
    """Return a sample of the nodes that are asked for, with two hops of drawn neighbours. Takes 500 MB at most, a bit a node of
    the graph, and what the largest partition's lists take."""
    seeds = np.union1d(test.train, test.valid)
    nodes, frontier, hops = seeds, seeds, list[dict[str, EdgesAtEnd]]()
    for hop, fanout in enumerate(FANOUTS[len(ends)]):
        hops.append(draw(dataset, frontier, fanout, ends, unit is not None, seed=hop))
        frontier = np.setdiff1d(np.concatenate([each.edges["other"] for each in hops[-1].values()]), nodes)
        nodes = np.union1d(nodes, frontier)
    rows_of, most, table = dataset.partitioning.rows, max(1, BLOCK // features.stride), features.table.unchecked()

    def blocks() -> Iterator[npt.NDArray[Any]]:
        for k in np.unique(nodes // rows_of).tolist():
            inside = nodes[nodes // rows_of == k] - k * rows_of
            for low in range(0, len(inside), most):
                yield table.read_rows(k, inside[low : low + most])

    def lists(unit: float | None, directions: str) -> WholeLists:
        chosen = ends if directions == "both" else [directions]
        return lists_of_drawn([[hop[end] for end in chosen] for hop in hops], nodes, unit)

    def rows(units: Floats | None, codes: Codes) -> Floats:
        return _narrowed(features, blocks, units, codes, DRAWN_WIDTH)

    return GraphSample(test.placed(nodes), nodes, np.searchsorted(nodes, seeds), 0, unit, lists, rows)


def _narrowed(
    features: Features, blocks: Callable[[], Iterator[npt.NDArray[Any]]], units: Floats | None, codes: Codes, most: int
) -> Floats:
    """Return stored rows as numbers, or their first ``most`` principal components where they are wider. ``blocks``: some rows
    after others. ``units``: of columns whose logarithms are taken. ``codes``: of columns with a 0 or 1 for each beside them."""

    def decoded() -> Iterator[Floats]:
        for block in blocks():
            values = features.decode(block[:, : features.width])
            shown = values if units is None else logarithms(values, units)
            yield np.concatenate([shown, flags(values, codes)], 1) if codes else shown

    width = features.width + sum(map(len, codes.values()))
    if width <= most:
        return np.concatenate(list(decoded()))
    # One step of subspace iteration (Halko, Martinsson, Tropp 2011).
    chance = np.random.default_rng(0).normal(size=(width, most)).astype(np.float32)
    found = np.zeros_like(chance)
    for values in decoded():
        found += values.T @ (values @ chance)
    basis = np.linalg.qr(found)[0]
    return np.concatenate([values @ basis for values in decoded()])
