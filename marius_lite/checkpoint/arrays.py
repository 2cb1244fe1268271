"""Check the Zarr files that describe the tables of a checkpoint. The state has their checksum too."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.files import read

ROWS = "nodes"
FILES = ("zarr.json", f"{ROWS}/zarr.json")


def arrays_checksum(checkpoint: Path) -> int:
    """Return the crc32c of those files, one after the other. A run without learned rows has fewer. Raises OSError."""
    checksum = 0
    for name in FILES:
        if (checkpoint / name).exists():
            checksum = crc32c(np.frombuffer(read(checkpoint / name), np.uint8), checksum)
    return int(checksum)


def check_arrays(checkpoint: Path, expected: int) -> None:
    """Raise UserError where these files have another checksum than the state says."""
    if arrays_checksum(checkpoint) != expected:
        one_of_them = " or ".join(FILES)
        raise UserError(
            f"{checkpoint}: {one_of_them} is missing, damaged or was changed: choose another checkpoint with --checkpoint"
        )
