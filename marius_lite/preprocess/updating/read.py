"""Passes over files of edges in `update`: raw ids become keys, then places in order, then node ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from marius_lite.graph.dataset import Dataset
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.disk.spool import Ids, SpooledEdges
from marius_lite.preprocess.gather.bad_rows import BadRows
from marius_lite.preprocess.gather.gather import Gathered, gather
from marius_lite.preprocess.ids.numbering import Numbering, number_ids, with_ids
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.source import find_files
from marius_lite.preprocess.updating.nodes import PlacedNodes, place_nodes

FEW = 8  # keys of integers are all below the largest: where that is so many times the edges, keys of their own are fewer
LOOKUP_SHARE = 8  # an 8th of --memory is for raw ids that are looked up


@dataclass(frozen=True)
class ReadEdges:
    """Edges that were read: what pass `read` leaves, the order of their raw ids, and the node id of each."""

    gathered: Gathered
    numbering: Numbering
    placed: PlacedNodes

    def edges(self) -> Iterator[tuple[SpooledEdges, Ids]]:
        """Read the edges, block after block, with the place of each key among the raw ids."""
        few = FEW * sum(self.gathered.counts)
        for edges, ids in with_ids(self.gathered.edges(), self.numbering):
            yield edges.with_own_keys(ids[edges.src], ids[edges.dst]) if few < len(ids) else (edges, ids)


def read_edges(site: Site, old: Dataset, options: Options, ending: str, bad_rows: Path) -> ReadEdges:
    """Run the passes over the edge files of ``options``, into folders with this ``ending``."""
    once, folders = site.passes.once, [site.work / f"{name}{ending}" for name in ("read", "number", "places")]
    inputs = find_files(options)
    gathered = once(
        folders[0].name,
        Gathered,
        [folders[0], bad_rows],
        lambda: gather(inputs, options, folders[0], site.threads, BadRows(bad_rows)),
        lambda gathered: gathered.spooled,
    )
    numbering = once(
        folders[1].name,
        Numbering,
        [folders[1]],
        lambda: number_ids(gathered.dictionaries, options.seed, folders[1], options.memory // 2, site.threads),
    )
    memory = options.memory // LOOKUP_SHARE
    placed = once(folders[2].name, PlacedNodes, [folders[2]], lambda: place_nodes(old, numbering.raw_ids, folders[2], memory))
    return ReadEdges(gathered, numbering, placed)
