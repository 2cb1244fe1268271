"""Columns that are typed already (Parquet, npy): to raw edges of the wanted kind, row by row checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.readers.raw import BadRow, RawEdges

Mask = npt.NDArray[np.bool_]


def kind_of(type: pa.DataType) -> IdKind | None:
    """int or str, None for a type that can be no id."""
    if pa.types.is_dictionary(type):
        return kind_of(type.value_type)
    if pa.types.is_integer(type):
        return "int"
    return "str" if pa.types.is_string(type) or pa.types.is_large_string(type) else None


def checked_edges(path: str, first_row: int, src: pa.Array, rel: pa.Array | None, dst: pa.Array, kind: IdKind,
                  skip: bool) -> RawEdges:
    """Columns as `RawEdges`; row numbers count from ``first_row``. Raises UserError unless ``skip``."""
    good = np.ones(len(src), bool)
    reasons: list[tuple[Mask, str]] = []
    ends = []
    for role, values in (("src", src), ("dst", dst)):
        ids, faults = _as_kind(values, kind)
        ends.append(ids)
        reasons += [(fault, f"{role}: {reason}") for fault, reason in faults]
    names = None
    if rel is not None:
        names, faults = _names(rel)
        reasons += [(fault, f"rel: {reason}") for fault, reason in faults]
    bad = []
    for fault, reason in reasons:
        for row in np.flatnonzero(fault & good).tolist():
            content = ", ".join(str(column[row].as_py()) for column in (src, rel, dst) if column is not None)
            bad.append(BadRow(f"{path}: row {first_row + row}", reason, content[:200]))
            if not skip:
                raise UserError(
                    f"{bad[0]}: mend the row, or leave such rows out with --on-bad-row skip"
                    + (", or keep ids as text with --ids str" if kind == "int" else "")
                )
        good &= ~fault
    if bad:
        keep = pa.array(good)
        ends = [ids.filter(keep) for ids in ends]
        names = names.filter(keep) if names is not None else None
    return RawEdges(ends[0], names, ends[1], 0, bad)


def _names(rel: pa.Array) -> tuple[pa.DictionaryArray, list[tuple[Mask, str]]]:
    """Relations as dictionary<string>: only the distinct values are turned into text."""
    encoded = rel if pa.types.is_dictionary(rel.type) else rel.dictionary_encode()
    names, _ = _as_kind(encoded.dictionary, "str")
    indices = encoded.indices.cast(pa.int32())
    empty = pc.equal(names.take(indices), "").fill_null(False)
    return (
        pa.DictionaryArray.from_arrays(indices, names),
        [(_mask(indices.is_null()), "null"), (_mask(empty), "empty")],
    )


def _as_kind(values: pa.Array, kind: IdKind) -> tuple[pa.Array, list[tuple[Mask, str]]]:
    """Ids of the wanted type (junk where a fault is), and the rows at fault with the reason."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    faults = [(_mask(values.is_null()), "null")]
    if kind == "str":
        text = values.cast(pa.string()).fill_null("")
        return text, [*faults, (_mask(pc.equal(text, "")), "empty")]
    if kind_of(values.type) == "str":
        number = pc.match_substring_regex(values.fill_null("0"), "^-?[0-9]{1,18}$")
        faults.append((~_mask(number), "not an integer id"))
        values = pc.if_else(number, values.fill_null("0"), "0").cast(pa.int64())
    values = values.fill_null(0)
    if pa.types.is_uint64(values.type):
        large = pc.greater(values, pa.scalar(2**63 - 1, pa.uint64()))
        faults.append((_mask(large), "id above 2^63 - 1"))
        values = pc.if_else(large, pa.scalar(0, pa.uint64()), values)
    values = values.cast(pa.int64())
    return values, [*faults, (_mask(pc.less(values, 0)), "negative id")]


def _mask(values: pa.Array) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False).astype(bool)
    return mask
