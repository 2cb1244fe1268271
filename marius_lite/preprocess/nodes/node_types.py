"""The type of each node, from a file of raw ids and type names.

    file --NodeKeys, TypeNames--> keys of raw ids, codes of types           while files are read
    keys, codes --Numbering--> a code for each node, by id                  once ids are known

Codes are placed a stretch of ids at a time, as many as the memory holds. The codes of the file are read once for each stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.files import read_numbers
from marius_lite.graph.ids import IdKind
from marius_lite.graph.manifest import Source
from marius_lite.graph.node_types import MOST_TYPES, Codes, compact, in_order
from marius_lite.preprocess.disk.key_list import KeyList, KeyListWriter, key_list_bytes
from marius_lite.preprocess.disk.spool import Ids, Keys
from marius_lite.preprocess.ids.numbering import Numbering
from marius_lite.preprocess.ids.relations import MEMORY_SHARE
from marius_lite.preprocess.ids.renumber import Renumbering, Types
from marius_lite.preprocess.nodes.node_rows import raw_at
from marius_lite.preprocess.nodes.node_sets import ids_of
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.node_types import open_types

CODE_BYTES = 2
NODE_BYTES = 4  # of a node while types are placed
PLACED_SHARE = 4  # a quarter of --memory is for the nodes of a stretch
LEAST_STRETCH, LEAST_NAMES = 1 << 16, 1 << 20
NO_TYPE = -1


@dataclass(frozen=True)
class TypeKeys:
    """The rows of the file: keys of raw ids, and beside them a file of codes (uint16), which are places in ``names``."""

    keys: KeyList
    codes: Path
    names: list[str]


@dataclass(frozen=True)
class PlacedTypes:
    """``codes``: a file of places in ``names`` (uint16), by id. ``counts``: how many nodes are of each type."""

    codes: Path
    names: list[str]
    counts: list[int]

    def by(self, last: Renumbering) -> Types:
        """Return the types by last ids. Takes 2 bytes a node where these are not the first ids, which are all in memory then
        anyway."""
        names = pa.array(self.names, pa.string())
        if not last.changes:
            return lambda start, stop: compact(self._read(start, stop), names)
        placed = np.empty(sum(self.counts), np.uint16)
        for first, ids in last.blocks(len(placed)):
            placed[ids] = self._read(first, first + len(ids))
        return lambda start, stop: compact(placed[start:stop], names)

    def _read(self, start: int, stop: int) -> Codes:
        return read_numbers(self.codes, np.uint16, stop - start, start * CODE_BYTES)

    @property
    def report(self) -> dict[str, int]:
        """How many nodes are of each type, by its name."""
        return dict(zip(self.names, self.counts))


class TypeNames:
    """Numbers the names of types in the order in which they first occur. ``most_bytes``: what all names may take."""

    def __init__(self, path: Path, most_bytes: int):
        self._path, self._most_bytes = path, most_bytes
        self._codes: dict[str, int] = {}
        self._bytes = 0

    @property
    def names(self) -> list[str]:
        return list(self._codes)

    def add(self, column: pa.DictionaryArray) -> Codes:
        """Return the codes of a column. Raises UserError where there are too many distinct names."""
        places = column.indices.to_numpy()
        used = np.flatnonzero(np.bincount(places, minlength=len(column.dictionary)))
        codes = np.zeros(len(column.dictionary), np.uint16)
        codes[used] = [self._code(name) for name in column.dictionary.take(pa.array(used)).to_pylist()]
        column_codes: Codes = codes[places]
        return column_codes

    def _code(self, name: str) -> int:
        if (code := self._codes.get(name)) is not None:
            return code
        self._bytes += len(name.encode())
        if len(self._codes) == MOST_TYPES:
            raise UserError(
                f"{self._path}: more than {MOST_TYPES:,} distinct types, {name[:80]!r} is one more: is the column of "
                "types the right one?"
            )
        if self._bytes > self._most_bytes:
            raise UserError(
                f"{self._path}: {len(self._codes) + 1:,} distinct types and more, their names fill what --memory "
                "leaves for them: is the column of types the right one? else give more --memory"
            )
        return self._codes.setdefault(name, len(self._codes))


class TypeSource:
    """The opened file of types."""

    def __init__(self, file: Path, options: Options):
        self._file, self._memory = open_types(file, options), options.memory

    @property
    def warnings(self) -> list[str]:
        """A line for each sign that the file is not read as it is meant."""
        return self._file.warnings

    @property
    def source(self) -> Source:
        """The file for the manifest. To be asked for when it is read."""
        path = self._file.path
        return Source(name=path.name, size=path.stat().st_size, crc32c=self._file.checksum)

    def key(self, folder: Path, kind: IdKind, block_bytes: int, add: Callable[[pa.Array], tuple[int, Keys]]) -> TypeKeys:
        """Give every raw id of the file a key, by ``add``, and list keys and codes. Raises UserError for wrong rows, and too many
        types."""
        folder.mkdir(exist_ok=True)
        names = TypeNames(self._file.path, max(LEAST_NAMES, self._memory // MEMORY_SHARE))
        with KeyListWriter(folder / "typed") as writer, open(folder / "types", "wb") as codes:
            for raw, types in self._file.read(kind, block_bytes):
                if len(raw):
                    codes.write(names.add(types).data)
                    writer.append(*add(raw))
        return TypeKeys(writer.listed, folder / "types", names.names)

    def place(self, numbering: Numbering, given: TypeKeys, folder: Path) -> PlacedTypes:
        """Write the type of each node. Raises UserError for a node that has none, or two different ones."""
        folder.mkdir()
        names = in_order(given.names)
        code_of = {name: code for code, name in enumerate(names)}
        rank = np.array([code_of[name] for name in given.names], np.uint16)
        nodes, stretch = numbering.nodes, max(LEAST_STRETCH, self._memory // (PLACED_SHARE * NODE_BYTES))
        counts, first_without = np.zeros(len(names), np.int64), None
        with open(folder / "codes", "wb") as out:
            for low in range(0, nodes, stretch):
                placed = np.full(min(stretch, nodes - low), NO_TYPE, np.int32)
                for ids, codes in _rows(numbering, given, rank):
                    inside = (ids >= low) & (ids < low + len(placed))
                    at, given_codes = ids[inside] - low, codes[inside]
                    before = placed[at]
                    placed[at] = given_codes
                    wrong = (placed[at] != given_codes) | ((before != given_codes) & (before != NO_TYPE))
                    if wrong.any():
                        raise self._two_types(numbering, given, int(at[wrong.argmax()]) + low)
                if first_without is None and (placed == NO_TYPE).any():
                    first_without = low + int((placed == NO_TYPE).argmax())
                counts += np.bincount(placed[placed != NO_TYPE], minlength=len(names))
                out.write(placed.astype(np.uint16).data)
        if first_without is not None:
            missing = nodes - int(counts.sum())
            raise UserError(
                f"{self._file.path}: {missing:,} of {nodes:,} nodes {'has' if missing == 1 else 'have'} no type, "
                f"{raw_at(numbering.raw_ids, first_without)!r} for one: every node needs a type: add a row for it, "
                "with the type `unknown` if you do not know it"
            )
        return PlacedTypes(folder / "codes", names, counts.tolist())

    def _two_types(self, numbering: Numbering, given: TypeKeys, node: int) -> UserError:
        """Return the error for a node with two different types."""
        names: list[str] = []
        for ids, codes in _rows(numbering, given, np.arange(len(given.names), dtype=np.uint16)):
            names += [given.names[code] for code in codes[ids == node].tolist()]
        other = next(name for name in names if name != names[0])
        return UserError(
            f"{self._file.path}: node {raw_at(numbering.raw_ids, node)!r} has type {names[0]!r} and type {other!r}: "
            "a node has one type: remove one of the rows"
        )


def _rows(numbering: Numbering, given: TypeKeys, rank: Codes) -> Iterator[tuple[Ids, Codes]]:
    """Read (ids, ``rank`` of their codes) of the rows, in blocks."""
    first = 0
    for ids in ids_of(numbering, given.keys):
        yield ids, rank[read_numbers(given.codes, np.uint16, len(ids), first * CODE_BYTES)]
        first += len(ids)


def type_keys_bytes(rows: int) -> int:
    """What the files of `TypeKeys` take for so many rows."""
    return key_list_bytes(rows) + rows * CODE_BYTES


def placed_types_bytes(nodes: int) -> int:
    """What the file of `PlacedTypes` takes."""
    return nodes * CODE_BYTES


def open_node_types(options: Options) -> TypeSource | None:
    """Open the file of types, where there is one. Raises UserError for what cannot be read."""
    return None if options.node_types is None else TypeSource(options.node_types, options)
