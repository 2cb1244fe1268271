"""What a format of edge files is. Its description says all that the program knows of the format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.raw import Reader, Stretch
from marius_lite.preprocess.readers.source import ByteStream, InputFile, Progress


@dataclass(frozen=True)
class Opening:
    """A file whose edges are to be read: ``block_bytes`` at a time by each of ``threads``. ``progress`` is called with bytes
    read. ``stretch``: the part of it to read, one of those its reader has named; None: all of it."""

    file: InputFile
    options: Options
    block_bytes: int
    threads: int
    progress: Progress
    stretch: Stretch | None = None

    @property
    def block_rows(self) -> int:
        """Rows of numbers that take about as many bytes."""
        return max(1 << 12, self.block_bytes // 16)

    def of_stream(self, read: Callable[[ByteStream], Reader]) -> Reader:
        """Return the reader that ``read`` makes of the file's decompressed bytes."""
        stream = ByteStream(self.file.path, self.progress, self.file.member)
        try:
            return read(stream)
        except BaseException:
            stream.close()
            raise


COMPRESSED = {".gz", ".zst", ".bz2", ".xz", ".zip", ".tar"}


def called(*endings: str) -> Callable[[str], bool]:
    """Return whether a file's name has one of these ``endings``, before what compression appends."""

    def ends_so(name: str) -> bool:
        suffixes = [suffix for suffix in Path(name).suffixes if suffix not in COMPRESSED]
        return bool(suffixes) and suffixes[-1] in endings

    return ends_so


def _never(_: Any) -> bool:
    return False


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class Format:
    """``open`` makes the reader of a file.

    Four signs tell a file's format, the earlier before the later. ``beside``: files beside it. ``magic``: its first bytes (see
    `source.magic_of`), if it ``holds`` what it should. ``begins``: its first decompressed bytes, or those of its first row.
    ``named``: its name. A file without any sign is text.

    ``lines``: a file of text, which --format may force to be read as another such format. ``own_columns``: the file says what its
    columns are, so --columns is refused. ``values``: weights and times can be read.
    """

    open: Callable[[Opening], Reader]
    beside: Callable[[Path], bool] = _never
    magic: tuple[str, ...] = ()
    holds: Callable[[Path], bool] = _always
    begins: Callable[[bytes], bool] = _never
    named: Callable[[str], bool] = _never
    lines: bool = False
    own_columns: bool = False
    values: bool = False
