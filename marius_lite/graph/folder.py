"""Read a dataset folder: each of its parts by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.graph.adjacency import ADJACENCY, Adjacency
from marius_lite.graph.checked import REDO, CheckedFiles
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.fetched import brought_here
from marius_lite.graph.ids import IdFile, names_file, order_key
from marius_lite.graph.manifest import Manifest, read_manifest
from marius_lite.graph.node_columns import LABELS, SPLIT, Labels, NodeSplits
from marius_lite.graph.node_types import NodeTypes
from marius_lite.graph.versions import version_folder
from marius_lite.remote.dataset import fetched_files

if TYPE_CHECKING:
    from marius_lite.graph.features import Features
    from marius_lite.graph.multi_labels import MultiLabels


class DatasetFolder:
    """A folder that ``preprocess`` wrote, for reading. `open` makes one."""

    def __init__(self, path: Path, manifest: Manifest):
        self.path = path
        self.manifest = manifest
        self.partitioning = manifest.partitioning
        self.checked = CheckedFiles(path, manifest.files, fetched_files(path, manifest.files))
        self._edges: dict[str, EdgeBuckets] = {}

    @classmethod
    def open(cls, path: str | Path, fingerprint: str | None = None) -> Self:
        """Open the newest version of a dataset, the one that ``DIR@N`` names, or the one with this ``fingerprint`` if there is
        such a version. Raises UserError where a file is missing, has another size, or is a changed description of an array.

        What is read later is compared with a checksum before it is used.
        """
        path = version_folder(brought_here(Path(path), fingerprint), fingerprint)
        manifest = read_manifest(path)
        dataset = cls(path, manifest)
        for name, (size, _) in manifest.files.items() if dataset.address is None else ():
            file = path / name
            if not file.is_file():
                raise UserError(f"{file}: missing: copy the whole dataset folder, or {REDO}")
            if file.stat().st_size != size:
                raise UserError(f"{file}: {file.stat().st_size} bytes, {size} were written: copy the file again, or {REDO}")
        dataset.checked.check_descriptions()
        return dataset

    @property
    def address(self) -> str | None:
        """Where the dataset is in object storage; None where it is a folder of this machine."""
        fetched = self.checked.fetched
        return str(fetched.address) if fetched else None

    @property
    def fingerprint(self) -> str:
        """A hash of all that the dataset holds, see `Manifest`."""
        return self.manifest.fingerprint

    def edges(self, split: str) -> EdgeBuckets:
        """Return the edges of a split: always the same object, which reads once where buckets begin.

        Raises UserError for an unknown split or a wrong number of edges.
        """
        if split in self._edges:
            return self._edges[split]
        if split not in self.manifest.edges:
            raise UserError(
                f"{self.path}: no split {split!r}: it has {', '.join(self.manifest.edges)}; "
                "preprocess makes others with --valid, --test or --split"
            )
        segments = [(each.name, each.nodes) for each in (self.manifest.segments or {}).get(split, ())]
        columns = self.manifest.carried
        edges = EdgeBuckets(self.path / "edges" / split, self.partitioning, columns, self.checked, segments or None)
        if edges.total != self.manifest.edges[split]:
            raise UserError(f"{edges.folder}: {edges.total:,} edges, the manifest says {self.manifest.edges[split]:,}: {REDO}")
        self._edges[split] = edges
        return edges

    @cached_property
    def features(self) -> Features | None:
        """The nodes' features, None where the dataset has none. Raises UserError where their table cannot be read."""
        from marius_lite.graph.features import Features  # most commands do not need zarr, which it loads

        shape = self.manifest.features
        return None if shape is None else Features.open(self.path, shape, self.checked)

    @cached_property
    def adjacency(self) -> Adjacency | None:
        """The in-edge lists of the training edges, None where the dataset was made without `--adjacency in`."""
        if self.manifest.adjacency is None:
            return None
        weighted = "weight" in self.manifest.carried
        edges = self.edges("train") if "train" in (self.manifest.segments or {}) else None
        return Adjacency(self.path / ADJACENCY, self.partitioning, self.manifest.relations, weighted, self.checked, edges)

    @cached_property
    def labels(self) -> Labels | MultiLabels | None:
        """The nodes' class labels, None where the dataset has none. Raises UserError where their table cannot be read."""
        shape = self.manifest.labels
        if shape is None:
            return None
        self.checked.need(self.path / LABELS)
        if not self.manifest.multi_label:
            return Labels(self.path, shape.classes, self.partitioning, self.manifest.files)
        from marius_lite.graph.multi_labels import MultiLabels  # most commands do not need zarr, which it loads

        return MultiLabels(self.path, shape.classes, self.manifest.files)

    def required_labels(self) -> Labels | MultiLabels:
        """Return the nodes' class labels. Raises UserError where the dataset has none, or where their table cannot be read."""
        if self.labels is None:
            raise UserError(f"{self.path}: nodes have no labels: preprocess stores them with --labels FILE")
        return self.labels

    @property
    def class_names(self) -> list[str]:
        """The names of the classes, in order of their numbers; empty where nodes have no labels."""
        shape = self.manifest.labels
        return list(self.manifest.class_names or map(str, range(shape.classes if shape else 0)))

    @cached_property
    def node_splits(self) -> NodeSplits | None:
        """Which split each node belongs to, None where nodes are not split."""
        if self.manifest.node_split is None:
            return None
        self.checked.need(self.path / SPLIT)
        return NodeSplits(self.path, self.node_counts, self.partitioning, self.manifest.files)

    @cached_property
    def types(self) -> NodeTypes | None:
        """The types of the nodes, None where the dataset has none."""
        names = self.manifest.node_types
        return None if names is None else NodeTypes(self._nodes, self.manifest.nodes, names)

    @property
    def node_counts(self) -> dict[str, int]:
        """How many nodes are for train, valid and test; empty where nodes are not split."""
        return dict(self.manifest.node_split or {})

    def node_split(self, name: str) -> npt.NDArray[np.int64]:
        """Return the node ids of a split in ascending order. Those of train are in the first ``training_partitions`` partitions.

        Raises UserError for an unknown split, and where its table was changed.
        """
        splits = self.node_splits
        if splits is None or name not in splits.counts:
            raise UserError(
                f"{self.path}: no node split {name!r}: it has {', '.join(self.node_counts) or 'none'}; preprocess makes "
                "them with --train-nodes, --valid-nodes and --test-nodes, or --node-split"
            )
        return splits.nodes(name)

    @property
    def _nodes(self) -> IdFile:
        first, *more = self.name_files
        return IdFile(first, self.manifest.ids, self.checked, more, order_key(self.manifest.seed))

    @property
    def name_files(self) -> list[Path]:
        """The files of the nodes' names, in order of node id."""
        return [self.path / names_file(name) for name in ([each.name for each in self.manifest.names or ()] or [""])]

    @property
    def _relations(self) -> IdFile:
        return IdFile(self.path / "relations.parquet", self.manifest.relation_ids, self.checked)

    def raw_ids(self, start: int, stop: int) -> pa.Array:
        """Read the raw ids of node ids [start, stop), int64 or string. Only their row groups are read."""
        return self._nodes.read(start, stop)

    def node_types(self, start: int, stop: int) -> pa.DictionaryArray:
        """Read the types of node ids [start, stop), by name. Only their row groups are read.

        The result's ``dictionary`` is the manifest's ``node_types``, and its ``indices`` (int32) are places there. Raises
        UserError for a dataset without types.
        """
        if self.types is None:
            raise UserError(f"{self.path}: nodes have no types: preprocess stores them with --node-types FILE")
        return self.types.read(start, stop)

    def lookup_nodes(self, raw: Sequence[Any] | pa.Array) -> npt.NDArray[np.int64]:
        """Return the node ids of raw ids, -1 where unknown."""
        return self._nodes.lookup(raw)

    def lookup_distinct_nodes(self, raw: pa.Array) -> npt.NDArray[np.int64]:
        """Do the same for raw ids of which no two are equal, in less time."""
        return self._nodes.lookup_distinct(raw)

    def relation_names(self) -> list[Any]:
        """Return the raw ids of the relations, in order of relation id. [""] where the input had no relation column."""
        names: list[Any] = self._relations.read(0, self.manifest.relations).to_pylist()
        return names

    def relation_counts(self) -> npt.NDArray[np.int64]:
        """Return how many stored edges of all splits each relation has, in order of relation id."""
        parts = [part.to_numpy() for part in self._relations.parts(0, self.manifest.relations, "count")]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def lookup_relations(self, raw: Sequence[Any] | pa.Array) -> npt.NDArray[np.int64]:
        """Return the relation ids of raw ids, -1 where unknown."""
        return self._relations.lookup(raw)

    def size(self, name: str) -> int:
        """Return the bytes of a file by the manifest, 0 where it is not listed."""
        return self.manifest.files.get(name, (0, 0))[0]
