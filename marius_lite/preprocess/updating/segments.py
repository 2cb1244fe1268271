"""Which segments of a dataset's edges and names stay as they are in its next version.

Those that stay are shared by hard links; the others are written again with what is new, as one segment. Each segment is `FACTOR`
times as large as all that come after it, or nearly: so there are few, all later ones together are a third of the first, and a
row is written again a few times for each time that its segment's size is multiplied (O'Neil et al. 1996, the LSM tree).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from marius_lite.graph.adjacency import ADJACENCY
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.holes import HOLES
from marius_lite.graph.ids import names_file
from marius_lite.graph.manifest import Segment
from marius_lite.preprocess.disk.passes import Files
from marius_lite.storage.snapshots import share_files

FACTOR = 4
BUCKET_SIZE = 2  # edges that take as many bytes as a bucket of a segment does, whether it has edges or not


@dataclass(frozen=True)
class SegmentPlan:
    """The first ``stay`` of the segments ``old`` stay. ``new``: what is written beside them, None where nothing is new."""

    old: tuple[Segment, ...]
    stay: int
    new: Segment | None

    @property
    def all(self) -> tuple[Segment, ...]:
        """The segments of the next version."""
        return (*self.old[: self.stay], *([self.new] if self.new else []))

    def recorded(self, nodes: int) -> tuple[Segment, ...] | None:
        """What the manifest of a dataset of so many ``nodes`` says of them; None where all is where it would be otherwise."""
        return None if self.all == (Segment(name="", nodes=nodes),) else self.all


def plan_segments(
    old: Sequence[Segment], sizes: Sequence[int], added: int, number: int, nodes: int, most: int | None = None
) -> SegmentPlan:
    """Return what stays where something of size ``added`` is new in version ``number`` with so many ``nodes``. ``most``: how many
    segments may stay."""
    stay = len(old) if most is None else most
    written = added + sum(sizes[stay:])
    while written and stay and sizes[stay - 1] < FACTOR * written:
        stay -= 1
        written += sizes[stay]
    name = str(number) if stay else ""
    new = Segment(name=name, nodes=nodes) if added or stay < len(old) else None
    return SegmentPlan(tuple(old), stay, new)


def plan_edges(old: Dataset, split: str, added: int, number: int, nodes: int, most: int | None = None) -> SegmentPlan:
    """Return what stays of a split that gets ``added`` edges. ``most``: how many segments may stay."""
    if split not in old.manifest.edges:
        return SegmentPlan((), 0, Segment(name="", nodes=nodes))
    sizes = [each.total + BUCKET_SIZE * each.partitioning.partitions**2 for each in old.edges(split).segments]
    buckets = old.partitioning.grown(nodes).partitions ** 2
    return plan_segments(edge_segments(old, split), sizes, added + BUCKET_SIZE * buckets if added else 0, number, nodes, most)


def plan_names(old: Dataset, number: int, nodes: int) -> SegmentPlan:
    """Return what stays of the names where the next version has so many ``nodes``."""
    segments = old.manifest.names or (Segment(name="", nodes=old.manifest.nodes),)
    ends = [each.nodes for each in segments]
    sizes = [end - before for before, end in zip([0, *ends], ends)]
    return plan_segments(segments, sizes, nodes - old.manifest.nodes, number, nodes)


def edge_segments(old: Dataset, split: str) -> tuple[Segment, ...]:
    """Return the segments of a split of a dataset, one or more."""
    return (old.manifest.segments or {}).get(split) or (Segment(name="", nodes=old.manifest.nodes),)


def share_edges(old: Dataset, root: Path, split: str, plan: SegmentPlan, other_holes: Iterable[int]) -> Files:
    """Share the segments of a split that stay with the dataset in ``root``, without the holes of those that get ``other_holes``.
    Returns their files with (size, crc32c)."""
    names = {each.name for each in plan.old[: plan.stay]}
    inside = f"edges/{split}/"
    not_shared = tuple(f"{holes_folder(split, plan.old[number]).as_posix()}/" for number in other_holes)
    found = (name for name in old.manifest.files if name.startswith(inside) and not name.startswith(not_shared))
    return _share(old, root, [name for name in found if _segment_of(name[len(inside) :]) in names])


def share_names(old: Dataset, root: Path, plan: SegmentPlan) -> Files:
    """Share the files of names that stay."""
    return _share(old, root, [names_file(each.name) for each in plan.old[: plan.stay]])


def share_lists(old: Dataset, root: Path, other_holes: bool) -> Files:
    """Share the in-edge lists of the dataset, without their holes where these become others."""
    inside, holes = (f"{folder.as_posix()}/" for folder in (ADJACENCY.parent, ADJACENCY / HOLES))
    found = (name for name in old.manifest.files if name.startswith(inside))
    return _share(old, root, [name for name in found if not (other_holes and name.startswith(holes))])


def holes_folder(split: str, segment: Segment) -> Path:
    """Return where in a dataset the holes of a segment are."""
    return Path("edges") / split / segment.name / HOLES


def _segment_of(inside: str) -> str:
    """Return the segment that a file inside the folder of a split belongs to."""
    first = inside.split("/")[0]
    return first if first.isdecimal() else ""


def _share(old: Dataset, root: Path, names: Iterable[str]) -> Files:
    names = list(names)
    share_files(old.path, root, names)
    return {root / name: old.manifest.files[name] for name in names}
