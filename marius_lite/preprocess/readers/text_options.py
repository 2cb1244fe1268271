"""The options that say how delimited text is read mean nothing where no file is such text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from marius_lite.errors import UserError
from marius_lite.preprocess.formats import AUTO
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.detect import OTHERWISE as TEXT
from marius_lite.preprocess.readers.detect import format_of, formats
from marius_lite.preprocess.readers.source import InputFile, locate, magic_of

ARRAYS = ("npy", "zip", "parquet")


def check_text_options(inputs: Sequence[InputFile], options: Options) -> None:
    """Raise UserError for --delimiter, --header or --comment where neither edges, labels nor node types are delimited text."""
    given = {
        "--delimiter": options.delimiter is not None,
        "--header": options.header != Options.header,
        "--comment": options.comment != Options.comment,
    }
    option = next((option for option, is_given in given.items() if is_given), None)
    about_nodes = [file for file in (options.labels, options.node_types) if file is not None]
    if option is None or any(_is_text(locate(file)[0]) for file in about_nodes):
        return
    known, found = formats(), set[str]()
    for file in inputs:
        found.add(options.format if options.format != AUTO else format_of(file, known))
        if TEXT in found:
            return
    kinds = ", ".join(sorted(found))
    raise UserError(f"{option}: says how delimited text is read, but the edges are {kinds}: leave out the option")


def _is_text(file: Path) -> bool:
    """Return whether a file about nodes is text. Zarr arrays are folders."""
    return not file.is_dir() and magic_of(file) not in ARRAYS
