"""Edges between two kinds of nodes that may have the same raw ids, such as users and items: ids get the names of their kinds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.option_texts import KIND_SEPARATOR, Kinds
from marius_lite.preprocess.readers.raw import CuttableReader, RawEdges, Reader, Stretch


class BipartiteReader:
    """A reader whose raw ids get the name of their kind: 7 is user:7 as a source, and item:7 as a destination."""

    def __init__(self, reader: Reader, kinds: Kinds, where: str):
        if reader.nodes is not None:
            reader.close()
            raise UserError(
                f"{where}: says itself which nodes there are, of one kind: --bipartite {','.join(kinds)} is for files that only "
                "have edges: leave it out, or write the edges as text"
            )
        self._reader, self._kinds = reader, kinds

    @property
    def kind(self) -> IdKind | None:
        return None if self._reader.kind is None else "str"

    @property
    def columns(self) -> int | None:
        return self._reader.columns

    @property
    def titles(self) -> tuple[str, ...]:
        return self._reader.titles

    @property
    def nodes(self) -> range | None:
        return None

    @property
    def description(self) -> str:
        return f"{self._reader.description}, bipartite"

    @property
    def checksum(self) -> int:
        return self._reader.checksum

    @property
    def lines(self) -> int:
        return self._reader.lines if isinstance(self._reader, CuttableReader) else 0

    def close(self) -> None:
        self._reader.close()

    def rows_expected(self) -> int:
        return self._reader.rows_expected()

    def stretches(self, size: int) -> list[Stretch]:
        return self._reader.stretches(size) if isinstance(self._reader, CuttableReader) else []

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        """Read all edges, with ids as texts. Raises UserError as the reader does."""
        for edges in self._reader.read("str"):
            src, dst = (_named(raw, name) for raw, name in zip((edges.src, edges.dst), self._kinds))
            yield dataclasses.replace(edges, src=src, dst=dst)


def _named(raw: pa.Array, kind: str) -> pa.Array:
    return pc.binary_join_element_wise(kind, raw, KIND_SEPARATOR) if len(raw) else raw
