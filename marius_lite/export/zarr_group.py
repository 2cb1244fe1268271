"""A Zarr group of uncompressed arrays."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marius_lite.export.format import ExportFormat, Names
from marius_lite.export.raw_ids import array_names, ids_file, write_ids

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks

BLOCK_BYTES = 64 << 20


def write_zarr(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write uncompressed Zarr arrays of ``rows`` rows in the group ``folder``, and the ids in a file."""
    import zarr

    group = zarr.open_group(folder, mode="a")
    start, arrays = 0, dict[str, Any]()
    with ExitStack() as opened:
        opened.enter_context(all_ended())
        for ids, columns in blocks:
            if not arrays:
                ids_output = opened.enter_context(ids_file(folder, name, ids.type, rows))
                for key, file in zip(columns, array_names(name, columns)):
                    values = columns[key]
                    chunk = max(1, BLOCK_BYTES // (values.itemsize * int(np.prod(values.shape[1:]))))
                    arrays[key] = group.create_array(
                        file,
                        shape=(rows, *values.shape[1:]),
                        dtype=values.dtype,
                        compressors=None,
                        filters=None,
                        chunks=(min(chunk, rows), *values.shape[1:]),
                    )
            for key, values in columns.items():
                arrays[key][start : start + len(values)] = values
            start += len(ids)
            write_ids(ids_output, ids)


@contextmanager
def all_ended() -> Iterator[None]:
    """Where a write of the block fails, wait for those that Zarr began beside it.

    They would go on in a folder that is being removed, or make it anew.
    """
    from zarr.core.sync import sync

    async def others() -> None:
        if beside := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(beside)

    try:
        yield
    except BaseException:
        sync(others())
        raise


FORMAT = ExportFormat(write_zarr)
