"""Relations of `update`: those of the dataset keep their ids, new ones follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.ids import RAW_TYPES, IdKind
from marius_lite.preprocess.disk.spool import Keys
from marius_lite.preprocess.ids.relations import CANONICAL_INT, NO_RELATIONS


@dataclass(frozen=True)
class GrownRelations:
    """``names``: raw ids of all relations in order of id, of this ``kind``. ``ids``: by key, those of the relations that were
    read."""

    kind: IdKind
    names: pa.Array
    ids: Keys


def grow_relations(old: Dataset, read: Sequence[str]) -> GrownRelations:
    """Return the relations of a dataset and those that were ``read``, of which unknown ones are ordered by their names.

    Where these are not all integers, as the old ones were, all become text. Raises UserError where one side has a relation column
    and the other has not.
    """
    kind, before = old.manifest.relation_ids, [str(name) for name in old.relation_names()]
    if read and (list(read) == NO_RELATIONS.names) != (before == NO_RELATIONS.names):
        has = (
            "no relation column, the dataset has relations"
            if before != NO_RELATIONS.names
            else "a relation column, the dataset none"
        )
        raise UserError(f"{old.path}: the edges given have {has}: name the columns with --columns")
    known = {name: place for place, name in enumerate(before)}
    unknown = [name for name in read if name not in known]
    integers = kind == "int" and all(CANONICAL_INT.fullmatch(name) for name in unknown)
    if unknown and kind == "int" and not integers:
        kind = "str"
    unknown.sort(key=int if kind == "int" else str.encode)
    known |= {name: len(before) + place for place, name in enumerate(unknown)}
    names = [*before, *unknown]
    values = pa.array([int(name) for name in names] if kind == "int" else names, RAW_TYPES[kind])
    return GrownRelations(kind, values, np.array([known[name] for name in read], np.uint32))
