"""Pass `partition`: the ids that a partitioner gives to nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from marius_lite._native import pack_arcs, place_nodes
from marius_lite.errors import MemoryWanted, UserError
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.disk.sort import ExternalSort, run_bytes
from marius_lite.preprocess.disk.spool import Ids, Keys, SpooledEdges
from marius_lite.preprocess.edges.sorting import split_rules
from marius_lite.preprocess.ids.renumber import Renumbering
from marius_lite.preprocess.partition.arcs import ArcLists
from marius_lite.preprocess.partition.locality import NODE_BYTES, Locality, levels_bytes
from marius_lite.preprocess.partition.metis_partitioner import Metis
from marius_lite.sizes import format_bytes

MOST_NODES = 1 << 32  # that a partitioner takes: it numbers them with 4 bytes
ARC_WORDS = 2  # of an arc that is sorted


def partitioner_bytes(edges: int, nodes: int, memory: int) -> int:
    """What a partitioner writes on its way: sorted arcs, where they do not fit in the ``memory`` for sorting, and its levels."""
    arcs = 2 * edges
    runs = run_bytes(arcs, ARC_WORDS)
    return (runs if runs > memory else 0) + levels_bytes(arcs, nodes)


def places_bytes(nodes: int, id_bytes: int) -> int:
    """What the last ids of all nodes take."""
    return nodes * id_bytes


class Placing:
    """Finds the last id of each node from ``count`` spooled edges. ``before`` turns the numbering's ids into those before the
    partitioner's."""

    def __init__(self, site: Site, partitioning: Partitioning, count: int, relation_ids: Keys, before: Renumbering):
        self._site, self._partitioning = site, partitioning
        self._count, self._relation_ids, self._before = count, relation_ids, before

    @property
    def places(self) -> list[Path]:
        """The files and folders that `run` writes."""
        return [self._site.work / name for name in ("locality", "arcs", "places")]

    def run(self, edges: Iterator[tuple[SpooledEdges, Ids]], first: int) -> Path:
        """Write a file of the last ids, and return its path. The ``first`` nodes stay the first ones. Raises UserError and
        MemoryWanted for too many nodes."""
        options, folder, out = self._site.options, self._site.work / "locality", self._site.work / "places"
        nodes, memory = self._partitioning.nodes, plan.sort_memory(options)
        self._require_few()
        lists = self._lists(edges, folder, memory)
        partitioner = Metis if options.partitioner == "metis" else Locality
        parts = partitioner(folder, self._partitioning, memory, self._site.threads, options.seed).find(lists, first=first)
        order, places = np.arange(nodes, dtype=np.uint32), np.arange(nodes, dtype=np.uint32)
        starts = np.arange(self._partitioning.partitions, dtype=np.int64) * self._partitioning.rows
        place_nodes(parts, starts, order, places)
        out.write_bytes(places.data)
        return out

    def _require_few(self) -> None:
        """Refuse more nodes than a partitioner can number, or than fit the memory."""
        nodes, name, memory = self._partitioning.nodes, self._site.options.partitioner, self._site.options.memory
        if nodes > MOST_NODES:
            raise UserError(f"--partitioner {name}: {nodes:,} nodes, it takes at most {MOST_NODES:,}: use random")
        if (needed := nodes * NODE_BYTES) > memory // 4:
            raise MemoryWanted(
                f"--partitioner {name}: {nodes:,} nodes take {format_bytes(needed)}, it has a quarter of "
                "--memory: give more, and the same command goes on, or use random"
            )

    def _lists(self, edges: Iterator[tuple[SpooledEdges, Ids]], folder: Path, memory: int) -> ArcLists:
        """Return the neighbour lists of the training edges, in both directions."""
        sorter = ExternalSort(self._site.work / "arcs", memory, self._site.threads, 2 * self._count)
        for spooled, ids in edges:
            numbers = self._before.apply(ids)
            for at in range(0, len(spooled.src), sorter.capacity // 2):
                part = slice(at, at + sorter.capacity // 2)
                room = sorter.room(2 * len(spooled.src[part]))
                sorter.keep(
                    pack_arcs(
                        spooled.src[part],
                        spooled.rel[part],
                        spooled.dst[part],
                        numbers,
                        self._relation_ids,
                        **split_rules(self._site.options, spooled.split),
                        out=room,
                    )
                )
        return ArcLists(folder / "lists", sorter.sorted(), memory)
