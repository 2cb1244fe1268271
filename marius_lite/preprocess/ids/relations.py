"""Raw relation ids to relation ids: numbered as they first occur, at the end put in the order of the raw ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite._native import StringIdTable
from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind, relation_schema, string_buffers
from marius_lite.preprocess.disk.spool import Keys
from marius_lite.preprocess.ids.id_runs import strings
from marius_lite.preprocess.ids.keys import string_bytes, string_offsets
from marius_lite.seeds import seed_for

CANONICAL_INT = re.compile(r"0|-?[1-9][0-9]{0,17}")
MEMORY_SHARE = 16  # a 16th of --memory is for names of relations: they stay in memory, and are copied into lists


@dataclass(frozen=True)
class Relations:
    """Raw ids in the order in which they first occurred. Input without a relation column has one, with an empty name."""

    names: list[str]
    force_text: bool

    def finish(self) -> tuple[IdKind, pa.Array, Keys]:
        """Return (kind, raw ids in their order, relation id of each key). They are integers if all names are, unless text is
        asked for."""
        kind: IdKind = "str"
        values: list[Any] = [name.encode() for name in self.names]
        if not self.force_text and all(CANONICAL_INT.fullmatch(name) for name in self.names):
            kind, values = "int", [int(name) for name in self.names]
        order = sorted(range(len(values)), key=values.__getitem__)
        rank = np.empty(len(order), np.uint32)
        rank[order] = np.arange(len(order), dtype=np.uint32)
        ordered = [values[i] if kind == "int" else self.names[i] for i in order]
        return kind, pa.array(ordered, relation_schema(kind).field("raw_id").type), rank


NO_RELATIONS = Relations([""], force_text=True)


class RelationKeys:
    """The dictionary of relations while files are read, always as text. ``memory``: bytes of the whole pass."""

    def __init__(self, seed: int, memory: int):
        self._table = StringIdTable(seed_for(seed, "relations"))
        self._most_bytes = memory // MEMORY_SHARE

    def add(self, rel: pa.DictionaryArray) -> Keys:
        """Return the keys of a dictionary<string> column. Raises UserError for too many distinct relations."""
        places: npt.NDArray[np.int32] = rel.indices.to_numpy()
        used = np.zeros(len(rel.dictionary), bool)
        used[places] = True
        names, keys = rel.dictionary.filter(pa.array(used)), np.empty(len(rel.dictionary), np.uint32)
        if len(names):
            of_names = np.empty(len(names), np.uint32)
            self._table.add(*string_buffers(names), of_names)
            keys[used] = of_names
        if self._table.bytes > max(1 << 20, self._most_bytes):
            raise UserError(
                f"{len(self._table):,} distinct relations and more, whose names do not fit their share of --memory: "
                "is the relation column the right one (--columns)? If it is, give more --memory"
            )
        return keys[places]

    def names(self) -> list[str]:
        """Return the raw ids in the order of their keys."""
        keys = np.arange(len(self._table), dtype=np.uint32)
        offsets = string_offsets(self._table, keys)
        names: list[str] = strings(offsets, string_bytes(self._table, keys, offsets)).to_pylist()
        return names


def write_relations(path: Path, kind: IdKind, raw: pa.Array, counts: npt.NDArray[np.int64]) -> None:
    """Write ``relations.parquet``: relation_id, raw_id, and how many stored edges each has."""
    ids = pa.array(np.arange(len(raw), dtype=np.int64))
    table = pa.table([ids, raw, pa.array(counts)], schema=relation_schema(kind))
    pq.write_table(table, path, compression="zstd", use_dictionary=False, store_schema=False)
