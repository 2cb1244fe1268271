"""Edges from standard input: put on disk first, because files are looked at before they are read."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from marius_lite.files import disk_error, remove_tree
from marius_lite.preprocess.build import check_output, temporary_folder
from marius_lite.preprocess.options import Options

STDIN = "-"
NAME = "standard input"


@contextmanager
def on_disk(options: Options, stream: IO[bytes]) -> Iterator[Options]:
    """``options`` in which a file stands for ``-``; it holds all of ``stream``, beside the output, and is removed at the end.

    Nothing is read where the output cannot be made.
    """
    if STDIN not in (*options.edges, *options.valid, *options.test):
        yield options
        return
    output = options.output.absolute()
    check_output(output, options.overwrite)
    with temporary_folder(output.with_name(f"{output.name}.stdin")) as folder:
        spooled = folder / NAME
        try:
            with spooled.open("wb") as file:
                shutil.copyfileobj(stream, file, 1 << 20)
        except OSError as error:
            raise disk_error(error, spooled) from error
        edges, valid, test = (tuple(str(spooled) if name == STDIN else name for name in names)
                              for names in (options.edges, options.valid, options.test))
        yield dataclasses.replace(options, edges=edges, valid=valid, test=test)
        remove_tree(folder)
