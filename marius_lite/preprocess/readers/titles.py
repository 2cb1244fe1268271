"""Whether the first row of a file about nodes, their types or their classes, holds titles instead."""

from __future__ import annotations

import re
from collections.abc import Sequence

from marius_lite.preprocess.readers.roles import TYPES

VALUE_TITLES = TYPES["type"] | {"y", "types", "labels", "classes", "target", "targets", "topic", "subject", "group", "community",
                                "genre", "field"}
NUMBER = re.compile(r"-?[0-9.]+|nan|NaN|")
LEAST_ROWS = 10  # fewer show nothing
REPEATED = 2  # so many rows or more have the same value, in the mean, where values are classes


def titled(values: Sequence[str], first_id: str = "") -> bool | None:
    """``values``: of the first rows; ``first_id``: the id beside the very first. None: in doubt, for no other row has that value,
    where the others have few."""
    first, others = values[0].strip(), [value.strip() for value in values[1:]]
    if not others or not first or first in others or any(NUMBER.fullmatch(title) for title in (first, first_id.strip()) if title):
        return False
    if all(NUMBER.fullmatch(value) for value in others):
        return True
    if first.lower() in VALUE_TITLES or first_id.strip().lower() in TYPES["id"]:
        return True
    few = len(others) >= LEAST_ROWS and REPEATED * len(set(others)) <= len(others)
    return None if few else False
