"""Read questions like (source, relation, ?), from a file or from rows, some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.raw_lookup import RAW_TYPES, RawId, as_named, looked_up
from marius_lite.predict.query_file import ASKED, Row, query_rows, told_name
from marius_lite.types import Ids


class Questions(NamedTuple):
    """Questions: side 0 asks (node, rel, ?), side 1 asks (?, rel, node). Each array is (n,) int64.

    ``raw``: (src, rel, dst) as raw ids, None for what is asked.
    """

    side: Ids
    node: Ids
    rel: Ids
    raw: list[tuple[RawId | None, RawId, RawId | None]]


Triple = Sequence[Any]
"""Raw ids (src, rel, dst), or (src, dst) where the dataset has no relations; None for what is asked."""


def read_questions(queries: Path | Iterable[Triple], dataset: Dataset, most: int) -> Iterator[Questions]:
    """Yield questions in their order, up to ``most`` at a time: rows ``src, rel, ?`` or ``?, rel, dst`` of raw ids (``src, ?`` or
    ``?, dst`` without relations) of a file, see `query_rows`, or of a list. Memory grows with ``most``, not with their number.

    Rows of a list have None or "?" for what is asked. Raises UserError, which names the line or the row, for anything else, and
    for ids that the dataset lacks.
    """
    columns = ["src", "dst"] if dataset.relation_names() == [""] else ["src", "rel", "dst"]
    name = told_name(queries) if isinstance(queries, Path) else "queries"
    rows = query_rows(queries, columns) if isinstance(queries, Path) else _listed(queries, len(columns))
    queried = ((place, _query(name, place, cells, len(columns))) for place, cells in rows)
    block = list(islice(queried, most))
    if not block:
        raise UserError(f"{name}: no queries: give at least one, for example {_example(len(columns))}")
    while block:
        yield _questions(block, name, dataset)
        block = list(islice(queried, most))


Query = tuple[str, tuple[str, str, str]]
"""(where it was found, (source, relation, destination) as text, with ? for what is asked)."""


def _questions(block: list[Query], name: str, dataset: Dataset) -> Questions:
    asked = [parts for _, parts in block]
    side = np.array([0 if src != ASKED else 1 for src, _, _ in asked])
    kind, relations = dataset.manifest.ids, dataset.manifest.relation_ids
    ids = as_named(kind, [src if src != ASKED else dst for src, _, dst in asked], dataset.lookup_nodes)
    rels = as_named(relations, [rel for _, rel, _ in asked], dataset.lookup_relations)
    node = looked_up(name, block, kind, "node", ids, dataset.lookup_nodes)
    rel = looked_up(name, block, relations, "relation", rels, dataset.lookup_relations)
    raw = [_raw(int(at), RAW_TYPES[kind](end), RAW_TYPES[relations](named)) for at, end, named in zip(side, ids, rels)]
    return Questions(side, node, rel, raw)


def _raw(side: int, node: RawId, rel: RawId) -> tuple[RawId | None, RawId, RawId | None]:
    """Return a query as raw ids, None for what is asked."""
    return (None, rel, node) if side else (node, rel, None)


def _query(name: str, place: str, cells: list[str], fields: int) -> tuple[str, str, str]:
    """Return a row as (source, relation, destination). Raises UserError for a row that is no query."""
    if len(cells) != fields or (cells[0] == ASKED) == (cells[-1] == ASKED):
        raise UserError(f"{name}, {place}: found {','.join(cells)!r}: a query is {_example(fields)}")
    return cells[0], cells[1] if fields == 3 else "", cells[-1]


def _listed(rows: Iterable[Triple], fields: int) -> Iterator[Row]:
    for number, row in enumerate(rows):
        if not isinstance(row, (tuple, list, np.ndarray)):
            raise UserError(f"queries, row {number}: found {row!r}: a query is {_example(fields)}")
        yield f"row {number}", [ASKED if part is None else str(part) for part in row]


def _example(fields: int) -> str:
    return "src,rel,? or ?,rel,dst" if fields == 3 else "src,? or ?,dst, for the dataset has one relation alone"
