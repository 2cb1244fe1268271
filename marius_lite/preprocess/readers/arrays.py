"""Columns that have types already (Parquet, arrays) to raw edges of the wanted kind. Every row is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.columns import COLUMN_ROLES
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.raw import MOST_CONTENT, BadRow, RawEdges

Mask = npt.NDArray[np.bool_]
Faults = list[tuple[Mask, str]]
MOST_ID = (1 << 63) - 1
EXACT = {32: 1 << 24, 64: 1 << 53}  # by bits of a float: whole numbers up to this are exact


def kind_of(type: pa.DataType) -> IdKind | None:
    """Return int or str; None for a type that ids cannot have."""
    if pa.types.is_dictionary(type):
        return kind_of(type.value_type)
    if pa.types.is_integer(type):
        return "int"
    return "str" if any(fits(type) for fits in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)) else None


def is_value(role: str, type: pa.DataType) -> bool:
    """Whether a column of this type can be a weight or a time."""
    return pa.types.is_integer(type) or (role == "weight" and pa.types.is_floating(type))


def to_arrow(column: npt.NDArray[Any], role: str) -> pa.Array:
    """Return a column as Arrow's array: contiguous, in this machine's byte order. Ids of less than 64 bits are widened on the
    way."""
    native = column.dtype.newbyteorder("=")
    widened = role in ("src", "dst") and native.kind in "iu" and native.itemsize < 8
    return pa.array(np.ascontiguousarray(column, np.int64 if widened else native))


def checked_edges(file: str, first_row: int, columns: Mapping[str, pa.Array], kind: IdKind, options: Options) -> RawEdges:
    """Return columns by role (src, dst, perhaps rel, weight, time) as `RawEdges`. The first row is row ``first_row`` of the file.

    Raises UserError at the first bad row unless ``options`` says to skip them.
    """
    roles = [role for role in COLUMN_ROLES if role in columns]
    checked: dict[str, pa.Array] = {}
    reasons: Faults = []
    for role in roles:
        checked[role], faults = _checked(role, columns[role], kind, options.weight_default)
        reasons += [(fault, f"{role}: {reason}") for fault, reason in faults]
    bad: list[BadRow] = []
    if reasons:
        which = np.full(len(columns["src"]), len(reasons), np.int32)
        for number, (fault, _) in reversed(list(enumerate(reasons))):
            which[fault] = number
        for row in np.flatnonzero(which < len(reasons)).tolist():
            content = ", ".join(str(columns[role][row].as_py()) for role in roles)
            bad.append(BadRow(file, first_row + row, reasons[which[row]][1], content[:MOST_CONTENT], "row"))
            if options.on_bad_row != "skip":
                raise UserError(
                    f"{bad[0]}: mend the row, or leave such rows out with --on-bad-row skip"
                    + (options.text_advice if kind == "int" and " id" in bad[0].reason else "")
                )
        keep = pa.array(which == len(reasons))
        checked = {role: values.filter(keep) for role, values in checked.items()}
    return RawEdges(checked["src"], checked.get("rel"), checked["dst"], 0, bad, checked.get("weight"), checked.get("time"))


def checked_types(file: str, first_row: int, ids: pa.Array, types: pa.Array, kind: IdKind) -> tuple[pa.Array, pa.DictionaryArray]:
    """Return columns of raw ids (int64 or string) and of their types (dictionary<string>). Raises UserError at the first bad
    row."""
    raw_ids, of_ids = _as_kind(ids, kind)
    names, of_types = _names(types)
    faults = [
        (int(fault.argmax()), f"{what}: {reason}")
        for what, both in (("id", of_ids), ("type", of_types))
        for fault, reason in both
        if fault.any()
    ]
    if faults:
        row, reason = min(faults, key=lambda fault: fault[0])
        content = ", ".join(str(column[row].as_py()) for column in (ids, types))[:MOST_CONTENT]
        raise UserError(
            f"{BadRow(file, first_row + row, reason, content, 'row')}: mend the row"
            + (", or keep ids as text with --ids str" if kind == "int" and " id" in reason else "")
        )
    return raw_ids, names


def checked_ids(file: str, first_row: int, ids: pa.Array, kind: IdKind) -> pa.Array:
    """Return a column of raw ids as int64 or string. Raises UserError at the first that is no such id."""
    raw_ids, faults = _as_kind(ids.cast(pa.string()) if pa.types.is_string_view(ids.type) else ids, kind)
    if faults:
        fault, reason = min(faults, key=lambda each: int(each[0].argmax()))
        row = int(fault.argmax())
        raise UserError(f"{BadRow(file, first_row + row, reason, str(ids[row].as_py())[:MOST_CONTENT], 'row')}: mend the row")
    return raw_ids


def _checked(role: str, values: pa.Array, kind: IdKind, no_weight: float | None) -> tuple[pa.Array, Faults]:
    """Return a column as `RawEdges` has it, with any value where a row is wrong; and the wrong rows, with the reason."""
    if pa.types.is_string_view(values.type):  # few of Arrow's functions take this type
        values = values.cast(pa.string())
    if role == "weight":
        return _weights(values, no_weight)
    if role == "time":
        return _integers(values, None)
    if role == "rel":
        return _names(values)
    return _as_kind(values, kind)


def _weights(values: pa.Array, none: float | None) -> tuple[pa.Array, Faults]:
    """Return weights as float32, and the wrong rows. ``none``: what null and NaN stand for, which tables write for each other;
    None: such rows are wrong."""
    weights = values.cast(pa.float32(), safe=False)
    if none is not None:
        weights = pc.if_else(pc.is_nan(weights), pa.scalar(none, pa.float32()), weights).fill_null(none)
    faults = _null(weights)
    if not pc.all(pc.is_finite(weights), min_count=0).as_py():
        faults.append((_mask(pc.invert(pc.is_finite(weights)).fill_null(False)), "no finite number"))
    return weights.fill_null(0) if weights.null_count else weights, faults


def _names(rel: pa.Array) -> tuple[pa.DictionaryArray, Faults]:
    """Return relations as dictionary<string>, and the wrong rows. Only distinct values are turned into text."""
    faults: Faults = []
    if pa.types.is_floating(rel.type):
        rel, faults = _integers(rel, None)
    encoded = rel if pa.types.is_dictionary(rel.type) else rel.dictionary_encode()
    names = encoded.dictionary.cast(pa.string())
    indices = encoded.indices.cast(pa.int32())
    faults += _null(indices)
    if len(names) and pc.min(pc.binary_length(names)).as_py() == 0:
        faults.append((_mask(pc.equal(names.take(indices), "").fill_null(False)), "empty"))
    return pa.DictionaryArray.from_arrays(indices, names), faults


def _as_kind(values: pa.Array, kind: IdKind) -> tuple[pa.Array, Faults]:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if kind == "str":
        faults: Faults = []
        if pa.types.is_floating(values.type):
            values, faults = _integers(values, None)
        text = values.cast(pa.string())
        faults += _null(text)
        if len(text) and pc.min(pc.binary_length(text)).as_py() == 0:
            faults.append((_mask(pc.equal(text, "").fill_null(False)), "empty"))
        return text.fill_null("") if text.null_count else text, faults
    if kind_of(values.type) != "str":
        return _integers(values, 0)
    number = pc.match_substring_regex(values, "^-?[0-9]{1,18}$").fill_null(True)
    integers, faults = _integers(pc.if_else(number, values, "0").cast(pa.int64()), 0)
    if not pc.all(number, min_count=0).as_py():
        faults.append((_mask(pc.invert(number)), "not an integer id"))
    return integers, faults


def _integers(values: pa.Array, least: int | None) -> tuple[pa.Array, Faults]:
    """Return whole numbers as int64, and the wrong rows. With ``least`` they are ids, none of which may be below it."""
    faults = _null(values)
    values = values.fill_null(0) if values.null_count else values
    if pa.types.is_floating(values.type):
        exact = pc.less_equal(pc.abs(values), pa.scalar(EXACT[values.type.bit_width], values.type))
        whole = pc.and_(exact, pc.equal(pc.floor(values), values))
        if not pc.all(whole, min_count=0).as_py():
            faults.append((~_mask(whole), "no whole number that a float holds exactly"))
            values = pc.if_else(whole, values, pa.scalar(0, values.type))
    bounds = pc.min_max(values).as_py()
    what = "number" if least is None else "id"
    if len(values) and pa.types.is_uint64(values.type) and bounds["max"] > MOST_ID:
        large = pc.greater(values, pa.scalar(MOST_ID, pa.uint64()))
        faults.append((_mask(large), f"{what} above 2^63 - 1"))
        values = pc.if_else(large, pa.scalar(0, pa.uint64()), values)
    values = values.cast(pa.int64())
    if len(values) and least is not None and bounds["min"] < least:
        faults.append((_mask(pc.less(values, least)), "negative id"))
    return values, faults


def _null(values: pa.Array) -> Faults:
    return [(_mask(values.is_null()), "null")] if values.null_count else []


def _mask(values: pa.Array) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False).astype(bool)
    return mask
