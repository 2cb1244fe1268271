"""Compute the checksum of a small record, which is stored in the record itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from marius_lite._native import crc32c


def checksum_of(tree: dict[str, Any]) -> int:
    """Return the CRC-32C of a JSON or YAML value. It does not depend on how it is written: keys are sorted, spaces left out."""
    keys_as_text = json.loads(json.dumps(tree))
    text = json.dumps(keys_as_text, sort_keys=True, separators=(",", ":"))
    return int(crc32c(np.frombuffer(text.encode(), np.uint8)))
