"""Which nodes are for training, validation and test: by lists of raw ids, or by a keyed hash of the raw id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.ids import hash_raw_ids
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.preprocess.disk.key_list import KeyList
from marius_lite.preprocess.disk.spool import Ids
from marius_lite.preprocess.fractions import split_bounds
from marius_lite.preprocess.ids.id_runs import IdRun
from marius_lite.preprocess.ids.numbering import Numbering
from marius_lite.preprocess.ids.renumber import Codes
from marius_lite.preprocess.nodes.node_rows import raw_at
from marius_lite.preprocess.readers.node_ids import IdList
from marius_lite.preprocess.readers.node_masks import NodeMask, open_set
from marius_lite.seeds import seed_for

Labels = npt.NDArray[np.int32]
USUAL = {
    "train": ("train", "train_idx", "train_mask"),
    "valid": ("valid", "val", "valid_idx", "val_idx", "valid_mask", "val_mask"),
    "test": ("test", "test_idx", "test_mask"),
}


class NodeLists:
    """Splits of nodes from files: each lists the nodes of a split, or is a mask that is true for them. ``split``: the column to
    take of masks with several.

    ``nodes``: how many a mask is about, None where rows do not belong to ids 0, 1, ... Raises UserError for a ``split`` where
    there is nothing to choose."""

    def __init__(self, files: Mapping[str, Path], nodes: int | None = None, split: int | None = None):
        self.lists: dict[str, IdList] = {name: open_set(file, USUAL[name], nodes, split) for name, file in files.items()}
        if split is not None and not any(isinstance(each, NodeMask) and each.several for each in self.lists.values()):
            shown = ", ".join(map(str, files.values()))
            raise UserError(
                f"--mask-split {split}: chooses among the splits of a mask of shape (nodes, splits) or (splits, nodes), which is "
                f"not in {shown}: leave out the option"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.lists)

    def codes(self, numbering: Numbering, lists: Mapping[str, KeyList], labels: Labels) -> Codes:
        """Return the split of each node by id, coded as in `NODE_SPLITS`. ``labels``: by id; -2 for nodes without a row.

        Raises UserError for an unknown id, one that stands twice, and one without a label."""
        codes = np.zeros(len(labels), np.uint8)
        for name, ids in self.lists.items():
            at = 0
            for block in ids_of(numbering, lists[name]):
                self._check(ids, at, block, labels, codes, numbering.raw_ids)
                codes[block] = 1 + NODE_SPLITS.index(name)
                at += len(block)
            if not at:
                raise UserError(f"{ids.path}: no ids at all: list the nodes for {name}, or leave out --{name}-nodes")
        return codes

    @staticmethod
    def _check(ids: IdList, at: int, block: Ids, labels: Labels, codes: Codes, raw_ids: IdRun) -> None:
        """Refuse a block of a list for its first wrong id. ``at``: how many ids of the list came before."""
        first = np.zeros(len(block), bool)
        first[np.unique(block, return_index=True)[1]] = True
        wrong = (codes[block] > 0) | ~first | (labels[block] < 0)
        if not wrong.any():
            return
        place = int(wrong.argmax())
        node = f"{ids.place(at + place)}: node {raw_at(raw_ids, int(block[place]))!r}"
        if labels[block[place]] < -1:
            raise UserError(f"{node} is unknown, no row of the labels belongs to it: give raw ids of nodes that have a label")
        if not first[place] or codes[block[place]]:
            other = NODE_SPLITS[codes[block[place]] - 1] if codes[block[place]] else "this list"
            raise UserError(f"{node} stands in {other} already: list each node once")
        raise UserError(f"{node} has no label (-1): a node of a split needs one: remove the node here, or give its class")


class NodeFractions:
    """Splits of nodes by fractions. A keyed hash of its raw id decides about a labelled node, whatever other nodes there are."""

    def __init__(self, fractions: tuple[float, float, float], seed: int):
        self._bounds = split_bounds(fractions)
        self._key = seed_for(seed, "node-split")
        self._text = ",".join(f"{part:g}" for part in fractions)
        self.names = tuple(name for name, part in zip(NODE_SPLITS, fractions) if part)
        self.lists: dict[str, IdList] = {}

    def codes(self, numbering: Numbering, lists: Mapping[str, KeyList], labels: Labels) -> Codes:
        """Return what `NodeLists.codes` returns. Raises UserError where a split gets no node."""
        codes = np.zeros(len(labels), np.uint8)
        first = 0
        for hashes in raw_hashes(numbering.raw_ids, self._key):
            places = np.searchsorted(np.array(self._bounds, np.uint64), hashes >> np.uint64(1), side="right")
            codes[first : first + len(hashes)] = np.where(labels[first : first + len(hashes)] >= 0, places + 1, 0)
            first += len(hashes)
        for name in self.names:
            if not (codes == 1 + NODE_SPLITS.index(name)).any():
                raise UserError(
                    f"--node-split {self._text}: no node for {name} among {int((labels >= 0).sum())} labelled ones: "
                    "give it a larger fraction, or lists with --train-nodes, --valid-nodes and --test-nodes"
                )
        return codes


def raw_hashes(raw_ids: IdRun, key: int) -> Iterator[npt.NDArray[np.uint64]]:
    """Return the 64-bit hashes, under ``key``, of the raw ids of a run, in blocks."""
    return (hash_raw_ids(raw, key) for raw in raw_ids.read())


def ids_of(numbering: Numbering, listed: KeyList) -> Iterator[Ids]:
    """Return the ids of listed keys, in order, in blocks."""
    opened, ids = -1, np.empty(0, np.uint32)
    for dictionary, keys in listed.read():
        if dictionary != opened:
            opened, ids = dictionary, numbering.ids(dictionary)
        yield ids[keys]
