"""NumPy files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marius_lite.export.format import ExportFormat, Names
from marius_lite.export.raw_ids import array_header, array_names, ids_file, write_ids

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks


def write_npy(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write NumPy files: the main column in ``name``.npy, each other column in a file of its own, and the ids in a file."""
    with ExitStack() as opened:
        outputs: dict[str, Any] = {}
        for ids, columns in blocks:
            if not outputs:
                outputs[""] = opened.enter_context(ids_file(folder, name, ids.type, rows))
                for key, file in zip(columns, array_names(name, columns)):
                    outputs[key] = opened.enter_context(open(folder / f"{file}.npy", "wb"))
                    header = array_header((rows, *columns[key].shape[1:]), columns[key].dtype)
                    np.lib.format.write_array_header_1_0(outputs[key], header)
            for key, values in columns.items():
                outputs[key].write(np.ascontiguousarray(values).data)  # tofile would not say why it fails
            write_ids(outputs[""], ids)


FORMAT = ExportFormat(write_npy)
