"""What files give for each node beside its edges: features, labels, splits.

files --NodeKeys--> lists of keys: the node of each row, the nodes of each split           while files are read
lists, labels --Numbering--> on disk by id: labels, splits; by row: ids                   once ids are known
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.graph.manifest import FeatureShape, Source
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.preprocess.disk.key_list import KeyList, KeyListWriter, key_list_bytes
from marius_lite.preprocess.disk.spool import Ids, Keys
from marius_lite.preprocess.ids.numbering import Numbering
from marius_lite.preprocess.ids.renumber import Codes
from marius_lite.preprocess.nodes.node_rows import NodeRows, raw_at
from marius_lite.preprocess.nodes.node_sets import Labels, NodeFractions, NodeLists, ids_of
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.plan import pass_memory
from marius_lite.preprocess.readers.array_file import keys_of
from marius_lite.preprocess.readers.features import FeatureFile
from marius_lite.preprocess.readers.labels import LabelFile, open_label_file
from marius_lite.preprocess.readers.multi_labels import MultiLabelFile
from marius_lite.preprocess.readers.node_ids import IdList, open_ids
from marius_lite.preprocess.readers.source import locate, magic_of
from marius_lite.sizes import format_bytes

NODE_BYTES = 8  # of a node while labels and splits are placed: a label twice, or a label, a split and a mark
MARK_BYTES = 4  # the same where there are features only
IDS_BESIDE = ("id", "ids", "node_id", "node_ids", "nodeid", "raw_id", "raw_ids")  # names of arrays
NO_ROW = -2  # in place of a label
LABEL_BYTES, SPLIT_BYTES = 4, 1  # of a node in the files of `NodeLabels`


@dataclass(frozen=True)
class NodeLabels:
    """Files by id: ``labels`` (int32; where a node may have several classes, 0 for a node that has a label) and ``codes`` of
    splits (uint8), None where there are none. ``row_ids``: a file of the id of each row. ``counts``: nodes of each split.
    ``labelled``: nodes with a label."""

    labels: Path | None
    codes: Path | None
    row_ids: Path
    counts: dict[str, int] | None
    labelled: int


@dataclass(frozen=True)
class NodeKeyLists:
    """Keys of the nodes of rows, and of the nodes of each split. ``labels``: of the rows of labels, where these are not
    ``rows``."""

    rows: KeyList
    sets: dict[str, KeyList]
    labels: KeyList | None = None


class NodeData:
    """The opened files about nodes. ``features`` or ``labels`` may be None. ``rows``: the node of each row, the same for both.
    A file of labels may have ids beside them. Then ``label_rows`` says whose they are; without features that is ``rows`` too.

    ``classes``: how many the labels have. Labels are read at once, so that what is wrong with them shows before edges are read.
    """

    def __init__(self, options: Options):
        self.features = None if options.features is None else FeatureFile(options.features, options.feature_dtype)
        self.labels = None if options.labels is None else open_label_file(options.labels, options)
        self.classes = None if self.labels is None else self.labels.classes()
        names = None if options.node_ids is None else open_ids(options.node_ids)
        if self.features is not None and self.features.ids is not None:
            _require_one_way(names, self.features.path, "features")
            names = self.features.ids
        for file in (options.features, options.labels) if names is None else ():
            _require_no_ids(file)
        self.label_rows = None
        if self.labels is not None and self.labels.ids is not None:
            self.label_rows = NodeRows(self.labels.path, self.labels.rows, "label", self.labels.ids)
        if self.features is not None:
            self.rows = NodeRows(self.features.path, self.features.rows, "feature", names)
        elif self.labels is not None:
            self.rows = self.label_rows or NodeRows(self.labels.path, self.labels.rows, "label", names)
            _require_one_way(names if self.labels.ids is not None else None, self.labels.path, "labels")
        if self.labels is not None and self.labels.ids is None and self.labels.rows != self.rows.count:
            raise UserError(
                f"{self.labels.path}: {self.labels.rows} rows, {self.rows.path} has {self.rows.count}: row "
                "i of both belongs to the same node: give as many labels as feature rows, -1 for no label"
            )
        self.sets: NodeLists | NodeFractions | None = None
        if options.node_lists:
            self.sets = NodeLists(options.node_lists, None if self.rows.names else self.rows.count, options.mask_split)
        elif options.node_fractions:
            self.sets = NodeFractions(options.node_fractions, options.seed)
        what, each = ("features", MARK_BYTES) if self.labels is None else ("labels", NODE_BYTES)
        if (needed := self.rows.count * each) > pass_memory(options):
            raise UserError(
                f"--memory: placing the {what} of {self.rows.count:,} nodes takes {format_bytes(needed)}, three "
                "quarters of it at most: give more --memory"
            )

    @property
    def warnings(self) -> list[str]:
        """A line for each sign that a file is not read as it is meant."""
        return [] if self.labels is None else self.labels.warnings

    @property
    def partial(self) -> bool:
        """Whether nodes without a label need no row."""
        return self.features is None and self.label_rows is not None

    @property
    def shape(self) -> FeatureShape | None:
        """The shape of the features for the manifest."""
        if self.features is None:
            return None
        return FeatureShape.model_validate({"width": self.features.width, "dtype": self.features.type})

    def key(self, folder: Path, kind: IdKind, block_bytes: int, add: Callable[[pa.Array], tuple[int, Keys]]) -> NodeKeyLists:
        """Give every raw id of the files about nodes a key, by ``add``, and list the keys. Raises UserError for wrong ids."""
        folder.mkdir(exist_ok=True)

        def listed(name: str, blocks: Iterator[pa.Array]) -> KeyList:
            with KeyListWriter(folder / name) as writer:
                for raw in blocks:
                    writer.append(*add(raw))
            return writer.listed

        sets = {} if self.sets is None else self.sets.lists
        own = None if self.label_rows is None or self.partial else listed("labels", self.label_rows.read(kind, block_bytes))
        return NodeKeyLists(
            listed("rows", self.rows.read(kind, block_bytes)),
            {name: listed(name, ids.read(kind, block_bytes)) for name, ids in sets.items()},
            own,
        )

    def place(self, numbering: Numbering, lists: NodeKeyLists, folder: Path) -> NodeLabels:
        """Write ids of rows, and labels and splits by id. Raises UserError for an id that stands twice, has no row, or is in no
        list."""
        folder.mkdir()
        labels: Labels = np.full(numbering.nodes, NO_ROW, np.int32)
        with open(folder / "row_ids", "wb") as row_ids:
            first = self._place_rows(self.rows, lists.rows, None if lists.labels else self.labels, numbering, labels, row_ids)
        if lists.labels is not None and self.label_rows is not None:
            if first < numbering.nodes:
                raise self.rows.missing(numbering.raw_ids, int((labels == NO_ROW).argmax()))
            labels[:] = NO_ROW
            with open(os.devnull, "wb") as nowhere:
                self._place_rows(self.label_rows, lists.labels, self.labels, numbering, labels, nowhere)
        codes, counts = self._codes(numbering, lists, labels)
        if self.label_rows is not None:
            labels[labels == NO_ROW] = -1
        elif first < numbering.nodes:
            raise self.rows.missing(numbering.raw_ids, int((labels == NO_ROW).argmax()))
        given = self.labels is not None
        return NodeLabels(
            _saved(folder / "labels", labels if given else None),
            _saved(folder / "codes", codes),
            folder / "row_ids",
            counts,
            int(np.count_nonzero(labels >= 0)) if given else 0,
        )

    def _place_rows(
        self,
        rows: NodeRows,
        listed: KeyList,
        values: LabelFile | MultiLabelFile | None,
        numbering: Numbering,
        labels: Labels,
        row_ids: BinaryIO,
    ) -> int:
        """Put the ``values`` of rows into ``labels`` by id (-1 without values), and the ids of rows into ``row_ids``. Returns the
        number of rows."""
        waiting, first = np.empty(0, np.int32), 0
        blocks = iter(()) if values is None else values.blocks()
        for ids in ids_of(numbering, listed):
            while values is not None and len(waiting) < len(ids):
                waiting = np.concatenate([waiting, next(blocks)])
            self._require_new(rows, ids, first, labels, numbering, listed)
            labels[ids] = waiting[: len(ids)] if values is not None else -1
            waiting = waiting[len(ids) :]
            row_ids.write(ids.data)
            first += len(ids)
        for _ in blocks:  # read to the end, where the checksum is known
            pass
        return first

    def _codes(self, numbering: Numbering, lists: NodeKeyLists, labels: Labels) -> tuple[Codes | None, dict[str, int] | None]:
        if self.sets is None:
            return None, None
        codes = self.sets.codes(numbering, lists.sets, labels)
        counts = np.bincount(codes, minlength=1 + len(NODE_SPLITS))
        return codes, {name: int(counts[1 + NODE_SPLITS.index(name)]) for name in self.sets.names}

    @staticmethod
    def _require_new(rows: NodeRows, ids: Ids, first: int, labels: Labels, numbering: Numbering, listed: KeyList) -> None:
        """Refuse a block of rows with an id that an earlier row has. The block begins at row ``first``."""
        fresh = np.zeros(len(ids), bool)
        fresh[np.unique(ids, return_index=True)[1]] = True
        again = ~fresh | (labels[ids] != NO_ROW)
        if not again.any():
            return
        second = int(again.argmax())
        before = 0
        for block in ids_of(numbering, listed):
            if len(same := np.flatnonzero(block == ids[second])):
                raise rows.twice(raw_at(numbering.raw_ids, int(ids[second])), before + int(same[0]), first + second)
            before += len(block)

    def sources(self) -> list[Source]:
        """Return all files but that of features, each once, for the manifest. To be called when all are read."""
        lists = () if self.sets is None else self.sets.lists.values()
        read = [file for file in (self.labels, self.rows.names, *lists) if file is not None]
        return list(
            {file.path.resolve(): Source(name=file.path.name, size=file.size, crc32c=file.checksum) for file in read}.values()
        )


def node_lists_bytes(data: NodeData) -> int:
    """What the files of `NodeKeyLists` take at most: no node is in two splits."""
    own = 0 if data.label_rows is None else data.label_rows.count
    return key_list_bytes(2 * data.rows.count + own)


def node_labels_bytes(data: NodeData, nodes: int, id_bytes: int) -> int:
    """What the files of `NodeLabels` take at most, with ids of ``id_bytes``."""
    rows = data.rows.count
    return nodes * (LABEL_BYTES + SPLIT_BYTES) * bool(rows) + rows * id_bytes


def open_node_data(options: Options) -> NodeData | None:
    """Open the files about nodes, where there are any. Raises UserError for what cannot be read, or does not fit together."""
    return None if options.features is None and options.labels is None else NodeData(options)


def _require_one_way(names: IdList | None, path: Path, what: str) -> None:
    """Refuse --node-ids where the file ``path`` has ids of its own."""
    if names is not None:
        raise UserError(f"--node-ids {names.path}: {path} has its own ids beside the {what}: leave out --node-ids")


def _require_no_ids(file: Path | None) -> None:
    """Refuse an archive that has ids beside its rows, where --node-ids does not name them."""
    path = None if file is None else locate(file)[0]
    if path is None or path.is_dir() or magic_of(path) != "zip":
        return
    if ids := [key for key in keys_of(path) if key.lower() in IDS_BESIDE]:
        raise UserError(
            f"{file}: the archive has {ids[0]!r} beside it: if these are the ids of the rows, give --node-ids "
            f"{path}:{ids[0]}, else leave them out of it"
        )


def _saved(path: Path, values: Any) -> Path | None:
    if values is None:
        return None
    path.write_bytes(values.data)
    return path
