"""Whether the first row of a file about nodes (their types or classes) holds titles."""

from __future__ import annotations

import re
from collections.abc import Sequence

from marius_lite.preprocess.readers.roles import NODE_IDS, NODE_VALUES

VALUE_TITLES = {*NODE_VALUES["type"], *NODE_VALUES["label"], "types", "targets", "group", "community", "genre", "field"}
NUMBER = re.compile(r"-?[0-9.]+|nan|NaN|")
LEAST_ROWS = 10  # fewer show nothing
MOST_SHOWN = 60  # characters of a title in a message
REPEATED = 2  # on average, at least so many rows have the same value where values are classes


def titled(values: Sequence[str], first_id: str = "") -> bool | None:
    """Whether the first of ``values`` (of the first rows) is a title. ``first_id``: the id beside it. None where that is in
    doubt: no other row has that value, and the others have few distinct ones."""
    first, others = values[0].strip(), [value.strip() for value in values[1:]]
    if not others or not first or first in others:
        return False
    if NUMBER.fullmatch(first):  # pandas calls columns without names 0, 1, ...
        return first in ("0", "1") and not any(NUMBER.fullmatch(value) for value in others) and first_id.strip() in ("", "0")
    if first_id and NUMBER.fullmatch(first_id.strip()):
        return False
    if all(NUMBER.fullmatch(value) for value in others):
        return True
    if first.lower() in VALUE_TITLES or first_id.strip().lower() in NODE_IDS:
        return True
    few = len(others) >= LEAST_ROWS and REPEATED * len(set(others)) <= len(others)
    return None if few else False
