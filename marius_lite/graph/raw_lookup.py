"""Find nodes and relations by the raw ids that a user gives, and give raw ids for what was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from marius_lite.config.yaml_text import shown
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.ids import IdKind
from marius_lite.types import Ids

RawId = int | str
RAW_TYPES: dict[IdKind, type[RawId]] = {"int": int, "str": str}


def looked_up(
    path: Path | str, lines: Sequence[tuple[str, Any]], kind: str, what: str, raw: list[Any], lookup: Callable[[list[Any]], Ids]
) -> Ids:
    """Return the ids of raw ids given as text. ``lines``: where each was found, first of a pair. ``what``: node or relation.

    Raises UserError, which names the place, for the first unknown one.
    """
    for (place, _), value in zip(lines, raw):
        if kind == "int" and not _is_int64(value):
            raise UserError(f"{path}, {place}: {shown(value)} is no {what} id: the dataset's are integers of at most 63 bits")
    ids = lookup(raw)
    unknown = np.flatnonzero(ids < 0)
    if len(unknown):
        place, value = lines[unknown[0]][0], raw[unknown[0]]
        raise UserError(f"{path}, {place}: the dataset has no {what} {value!r}: use ids of its edge files")
    return ids


def as_named(kind: str, texts: list[str], lookup: Callable[[list[Any]], Ids]) -> list[str]:
    """Return ids as the dataset has them: text as it stands, spaces too, where it has such an id; all else without white space
    around."""
    bare = [text.strip() for text in texts]
    spaced = [] if kind == "int" else [place for place, text in enumerate(texts) if text != bare[place]]
    if spaced:
        for place, found in zip(spaced, lookup([texts[place] for place in spaced])):
            if found >= 0:
                bare[place] = texts[place]
    return bare


def raw_ids(dataset: Dataset, nodes: Ids) -> dict[int, Any]:
    """Return node id -> raw id for ascending node ids. The ids of one partition are in memory at a time."""
    return dict(zip(nodes.tolist(), raw_array(dataset, nodes).to_pylist()))


def raw_array(dataset: Dataset, nodes: Ids) -> pa.Array:
    """Return the raw ids of ascending node ids, int64 or string. The ids of one partition are in memory at a time."""
    found, parts = [dataset.raw_ids(0, 0)], dataset.partitioning.partition_of(nodes)
    for k in np.unique(parts).tolist():
        wanted, span = nodes[parts == k], dataset.partitioning.range(k)
        found.append(dataset.raw_ids(span.start, span.stop).take(pa.array(wanted - span.start)))
    return pa.concat_arrays(found)


def _is_int64(text: str) -> bool:
    """Return whether ``text`` is an int64. Python refuses to read integers of more than 4,300 digits."""
    return re.fullmatch(r"-?\d{1,1000}", text) is not None and -(2**63) <= int(text) < 2**63
