"""Passes `unwanted` and `remove` of `update`: which edges are to be removed, and which of these are stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marius_lite.counted import counted
from marius_lite.graph.dataset import Dataset
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.updating.options import UpdateOptions
from marius_lite.preprocess.updating.read import ReadEdges, read_edges
from marius_lite.preprocess.updating.relations import grow_relations
from marius_lite.preprocess.updating.removed import MEMORY_SHARE, Nodes, RemovedEdges
from marius_lite.preprocess.updating.stored import stored_blocks

EXAMPLES = 10


@dataclass(frozen=True)
class Unwanted:
    """``edges``: the file of the edges to remove, None where there are none. ``unknown`` rows to remove have a node or a relation
    that the dataset does not have; the ``examples`` are some of them."""

    edges: Path | None
    unknown: int = 0
    examples: tuple[str, ...] = ()

    def load(self, options: UpdateOptions) -> RemovedEdges | None:
        """Return the edges; None where there are none."""
        if self.edges is None:
            return None
        return RemovedEdges.load(self.edges, options.old.manifest.nodes, not options.removed.undirected)


@dataclass(frozen=True)
class Removal:
    """``edges``: the file of the edges to remove, None where there are none. ``left``: stored edges by split that stay.

    ``removed``: stored edges that go. These are to be removed and are not stored: ``missing`` edges, and ``unknown`` rows with a
    node or a relation that the dataset does not have; the ``examples`` are some of both.
    """

    edges: Path | None
    left: dict[str, int]
    removed: int = 0
    missing: int = 0
    unknown: int = 0
    examples: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """What the report says of it."""
        return {"removed": self.removed, "not_there": self.missing + self.unknown, "not_there_examples": list(self.examples)}

    @property
    def warnings(self) -> list[str]:
        """A line where edges to remove are not there."""
        lacking = self.missing + self.unknown
        if not lacking:
            return []
        has = "has" if self.unknown == 1 else "have"
        unknown = f"; {self.unknown:,} {has} a node or a relation that the dataset does not have" if self.unknown else ""
        examples = f"; not there: {', '.join(self.examples)}" if self.examples else ""
        return [f"--remove: {counted(lacking, 'edge')} {'is' if lacking == 1 else 'are'} not in the dataset{unknown}{examples}"]


def read_unwanted(site: Site, options: UpdateOptions) -> Unwanted:
    """Read the edges to remove."""
    old, file = options.old, site.work / "removed"
    if not options.removed.edges:
        return Unwanted(None)
    if not site.passes.any_of("unwanted"):
        read = read_edges(site, old, options.removed, "-removed", site.work / "bad-removed")
    unwanted = site.passes.once("unwanted", Unwanted, [file], lambda: _known(options, read, file))
    site.passes.clear([site.work / f"{name}-removed" for name in ("read", "number", "places")])
    return unwanted


def _known(options: UpdateOptions, read: ReadEdges, file: Path) -> Unwanted:
    """Write the edges that were read and whose nodes and relations are known."""
    old, unknown, some = options.old, 0, list[tuple[int, int, int]]()
    relations, place = grow_relations(old, read.gathered.relations.names).ids, read.placed.ids

    def known_edges() -> Iterator[tuple[Nodes, Nodes, Nodes]]:
        nonlocal unknown
        for spooled, ids in read.edges():
            ends = ids[spooled.src], ids[spooled.dst]
            src, rel, dst = (each.astype(np.int64) for each in (place[ends[0]], relations[spooled.rel], place[ends[1]]))
            known = (src < old.manifest.nodes) & (dst < old.manifest.nodes) & (rel < old.manifest.relations)
            unknown += int(np.count_nonzero(~known))
            for row in np.flatnonzero(~known)[: EXAMPLES - len(some)].tolist():
                some.append((int(ends[0][row]), int(spooled.rel[row]), int(ends[1][row])))
            yield src[known], rel[known], dst[known]

    memory = options.removed.memory // MEMORY_SHARE
    RemovedEdges.of(known_edges(), old.manifest.nodes, not options.removed.undirected, memory).save(file)
    return Unwanted(file, unknown, tuple(_as_read(read, some)))


def _as_read(read: ReadEdges, edges: list[tuple[int, int, int]]) -> Iterator[str]:
    """Return edges by the raw ids that were read: ``edges`` have the places of their ends among these, and keys of relations."""
    wanted, raw, first = {place for src, _, dst in edges for place in (src, dst)}, dict[int, Any](), 0
    for block in read.numbering.raw_ids.read() if wanted else ():
        raw |= {place: block[place - first].as_py() for place in wanted if first <= place < first + len(block)}
        first += len(block)
    names = read.gathered.relations.names
    for src, rel, dst in edges:
        yield _edge(raw[src], names[rel], raw[dst])


def find_removed(site: Site, options: UpdateOptions, unwanted: Unwanted) -> Removal:
    """Look for the edges to remove among all those that are stored."""
    return site.passes.once("remove", Removal, [], lambda: _find(options, unwanted))


def _find(options: UpdateOptions, unwanted: Unwanted) -> Removal:
    left, removed = dict(options.old.manifest.edges), unwanted.load(options)
    for spooled in stored_blocks(options.old) if removed is not None else ():
        assert removed is not None
        left[SPLITS[spooled.split]] -= int(np.count_nonzero(~removed.keep(spooled)))
    return removal_of(options, unwanted, removed, left)


def removal_of(options: UpdateOptions, unwanted: Unwanted, removed: RemovedEdges | None, left: dict[str, int]) -> Removal:
    """Return what a removal found. ``removed``: those that were met in the dataset are marked. ``left``: edges that stay."""
    old = options.old
    if removed is None:
        return Removal(None, left)
    gone, missing = sum(old.manifest.edges.values()) - sum(left.values()), int(np.count_nonzero(~removed.found))
    examples = (*_named(old, removed), *unwanted.examples)[:EXAMPLES]
    return Removal(unwanted.edges, left, gone, missing, unwanted.unknown, examples)


def _named(old: Dataset, removed: RemovedEdges) -> Iterator[str]:
    """Return some edges that are not stored, by their raw ids."""
    names = old.relation_names()
    for src, rel, dst in removed.missing(EXAMPLES):
        yield _edge(old.raw_ids(src, src + 1)[0].as_py(), names[rel], old.raw_ids(dst, dst + 1)[0].as_py())


def _edge(src: Any, rel: Any, dst: Any) -> str:
    """Return an edge as text. Where there are no relations, theirs has no name."""
    return " ".join(str(part) for part in (src, rel, dst) if part != "")
