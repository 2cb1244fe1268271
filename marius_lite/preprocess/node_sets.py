"""Which nodes are for training, validation and test: by lists of raw ids, or by a keyed hash of the raw id."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.preprocess.options import split_bounds
from marius_lite.preprocess.readers.node_ids import IdList, open_ids
from marius_lite.preprocess.renumber import NodeIds
from marius_lite.seeds import seed_for

Labels = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
BLOCK = 1 << 18
USUAL = {"train": ("train", "train_idx"), "valid": ("valid", "val", "valid_idx", "val_idx"), "test": ("test", "test_idx")}


class NodeLists:
    """The nodes of each split are listed in a file."""

    def __init__(self, files: Mapping[str, Path]):
        self.lists: dict[str, IdList] = {name: open_ids(file, USUAL[name]) for name, file in files.items()}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.lists)

    def codes(self, nodes: NodeIds, labels: Labels, block_bytes: int) -> Codes:
        """The split of each node by provisional id, coded as in `NODE_SPLITS`. ``nodes`` are those of ``labels``' rows.

        Raises UserError for an unknown id, one that stands twice, and one without a label."""
        codes = np.zeros(len(labels), np.uint8)
        for name, ids in self.lists.items():
            at = 0
            for raw in ids.read(nodes.kind, block_bytes):
                found = nodes.add(raw)
                _check(ids, at, raw, found, labels, codes)
                codes[found] = 1 + NODE_SPLITS.index(name)
                at += len(raw)
            if not at:
                raise UserError(f"{ids.path}: no ids at all: list the nodes for {name}, or leave out --{name}-nodes")
        return codes


def _check(ids: IdList, at: int, raw: Any, found: npt.NDArray[np.uint64], labels: Labels, codes: Codes) -> None:
    """Refuse a block of a list, of which ``at`` ids came before, for its first id that is wrong."""
    unknown = found >= len(labels)
    known = np.where(unknown, 0, found).astype(np.int64)
    first = np.zeros(len(found), bool)
    first[np.unique(found, return_index=True)[1]] = True
    wrong = unknown | (codes[known] > 0) | ~first | (labels[known] < 0)
    if not wrong.any():
        return
    place = int(wrong.argmax())
    node = f"{ids.place(at + place)}: node {raw[place].as_py()!r}"
    if unknown[place]:
        raise UserError(f"{node} is unknown, no row of the labels is its: give raw ids of nodes that have a label")
    if not first[place] or codes[known[place]]:
        other = NODE_SPLITS[codes[known[place]] - 1] if codes[known[place]] else "this list"
        raise UserError(f"{node} stands in {other} already: list each node once")
    raise UserError(f"{node} has no label (-1): a node of a split needs one: remove it here, or give its class")


class NodeFractions:
    """Labelled nodes are dealt by a keyed hash of their raw ids: which other nodes there are does not matter."""

    def __init__(self, fractions: tuple[float, float, float], seed: int):
        self._bounds = split_bounds(fractions)
        self._key = seed_for(seed, "node-split")
        self._text = ",".join(f"{part:g}" for part in fractions)
        self.names = tuple(name for name, part in zip(NODE_SPLITS, fractions) if part)
        self.lists: dict[str, IdList] = {}

    def codes(self, nodes: NodeIds, labels: Labels, block_bytes: int) -> Codes:
        """As `NodeLists.codes`. Raises UserError where a split gets no node."""
        codes = np.zeros(len(labels), np.uint8)
        for first in range(0, len(labels), BLOCK):
            part = labels[first : first + BLOCK]
            hashes = nodes.hash(first, self._key, len(part)) >> np.uint64(1)
            places = np.searchsorted(np.array(self._bounds, np.uint64), hashes, side="right")
            codes[first : first + len(part)] = np.where(part >= 0, places + 1, 0)
        for name in self.names:
            if not (codes == 1 + NODE_SPLITS.index(name)).any():
                raise UserError(f"--node-split {self._text}: no node for {name} among {int((labels >= 0).sum())} labelled ones: "
                                "give it a larger fraction, or lists with --train-nodes, --valid-nodes and --test-nodes")
        return codes
