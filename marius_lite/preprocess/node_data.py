"""What is given for each node beside its edges: features, labels, splits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.manifest import FeatureShape, Source
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.preprocess.node_rows import NodeRows
from marius_lite.preprocess.node_sets import Codes, Labels, NodeFractions, NodeLists
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.features import FeatureFile
from marius_lite.preprocess.readers.labels import LabelFile
from marius_lite.preprocess.readers.node_ids import open_ids
from marius_lite.preprocess.renumber import NodeIds

Ids = npt.NDArray[Any]


class NodeData:
    """The opened files. ``rows``: whose row is whose, the same for ``features`` and ``labels``, of which one may be None.

    Labels are read at once, 4 bytes a node: what is wrong with them shows before any edge is read. ``codes``: the split of each
    node by provisional id, ``counts``: nodes of each split; known when `number` has run, None without splits.
    """

    def __init__(self, options: Options):
        self.features = None if options.features is None else FeatureFile(options.features, options.feature_dtype)
        self._label_file = None if options.labels is None else LabelFile(options.labels)
        names = None if options.node_ids is None else open_ids(options.node_ids)
        self.sets: NodeLists | NodeFractions | None = None
        if options.node_lists:
            self.sets = NodeLists(options.node_lists)
        elif options.node_fractions:
            self.sets = NodeFractions(options.node_fractions, options.seed)
        if self.features is not None:
            self.rows = NodeRows(self.features.path, self.features.rows, "feature", names)
        elif self._label_file is not None:
            self.rows = NodeRows(self._label_file.path, self._label_file.rows, "label", names)
        if self._label_file is not None and self._label_file.rows != self.rows.count:
            raise UserError(f"{self._label_file.path}: {self._label_file.rows} rows, {self.rows.path} has {self.rows.count}: row "
                            "i of both belongs to the same node: give as many labels as feature rows, -1 where there is none")
        self.labels: Labels | None = None if self._label_file is None else self._label_file.read()
        self.classes = None if self.labels is None else int(self.labels.max()) + 1
        self.codes: Codes | None = None
        self.counts: dict[str, int] | None = None

    def number(self, nodes: NodeIds, block_bytes: int) -> None:
        """Into an empty dictionary, so that row i becomes provisional id i. Raises UserError for wrong ids, also of lists."""
        self.rows.number(nodes, block_bytes)
        if self.sets is not None and self.labels is not None:
            self.codes = self.sets.codes(nodes, self.labels, block_bytes)
            found = np.bincount(self.codes, minlength=1 + len(NODE_SPLITS))
            self.counts = {name: int(found[1 + NODE_SPLITS.index(name)]) for name in self.sets.names}

    def forget(self) -> None:
        """Give the memory of labels and codes back."""
        self.labels = self.codes = None

    def require(self, nodes: NodeIds, edges: Path) -> None:
        """Raise UserError if ``edges`` brought a node that has no row."""
        self.rows.require(nodes, edges)

    @property
    def shape(self) -> FeatureShape | None:
        """What the manifest says of the features."""
        if self.features is None:
            return None
        return FeatureShape.model_validate({"width": self.features.width, "dtype": self.features.type})

    def sources(self) -> list[Source]:
        """The files, each once, for the manifest; when all are read."""
        lists = () if self.sets is None else self.sets.lists.values()
        read = [file for file in (self.features, self._label_file, self.rows.names, *lists) if file is not None]
        return list({file.path.resolve(): Source(name=file.path.name, size=file.size, crc32c=file.checksum)
                     for file in read}.values())


def open_node_data(options: Options) -> NodeData | None:
    """The files about nodes, where there are any. Raises UserError for what cannot be read, or does not fit together."""
    return None if options.features is None and options.labels is None else NodeData(options)


def training_first(order: Ids, rank: Ids, codes: Codes) -> Ids:
    """The provisional id of each node id once training nodes come before all others, which keep their order among each other.

    ``order``: that of (keyed hash, raw id). ``rank``, its inverse, is overwritten by the result's.
    """
    training = codes[order] == 1
    dealt = np.concatenate([order[training], order[~training]])
    rank[dealt] = np.arange(len(dealt), dtype=rank.dtype)
    return dealt
