"""Edges from standard input. They are put on disk first, because files are looked at before they are read."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from marius_lite import files
from marius_lite._native import crc32c
from marius_lite.preprocess.disk.place import LOCK, check_output
from marius_lite.preprocess.options import Options

STDIN = "-"
NAME, FOLDER_ENDING = "standard input", ".stdin.tmp"


@contextmanager
def on_disk(options: Options, stream: IO[bytes]) -> Iterator[Options]:
    """Return ``options`` with a file in place of ``-``. It holds all of ``stream``, lies beside the output, and is removed at the
    end. Nothing is read where the output cannot be made.
    """
    if STDIN not in (*options.edges, *options.valid, *options.test):
        yield options
        return
    output = options.output.absolute()
    check_output(output, options.overwrite)
    folder = output.with_name(f".{output.name}{FOLDER_ENDING}")
    folder.mkdir(parents=True, exist_ok=True)
    with files.lock(folder / LOCK):
        try:
            spooled = folder / NAME
            _copy(stream, spooled)
            edges, valid, test = (
                tuple(str(spooled) if name == STDIN else name for name in names)
                for names in (options.edges, options.valid, options.test)
            )
            yield dataclasses.replace(options, edges=edges, valid=valid, test=test)
        finally:
            files.remove_tree(folder)


def is_spooled(path: Path) -> bool:
    """Whether a file is one that `on_disk` made."""
    return path.name == NAME and path.parent.name.endswith(FOLDER_ENDING)


def _copy(stream: IO[bytes], spooled: Path) -> None:
    """Copy ``stream`` to a file. Its time of change is set to a checksum of the bytes: when the same bytes come again, an
    interrupted command goes on."""
    checksum = 0
    try:
        with spooled.open("wb") as file:
            while block := stream.read(1 << 20):
                checksum = crc32c(np.frombuffer(block, np.uint8), checksum)
                file.write(block)
        os.utime(spooled, ns=(checksum, checksum))
    except OSError as error:
        raise files.disk_error(error, spooled) from error
