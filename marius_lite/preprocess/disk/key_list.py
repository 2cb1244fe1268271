"""A list of raw ids as keys, in a file: the nodes of a feature file's rows, or the nodes for training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marius_lite.files import read_numbers
from marius_lite.preprocess.disk.spool import KEY_BYTES, Keys

BLOCK = 1 << 20


@dataclass(frozen=True)
class KeyList:
    """Keys in file ``path``. ``segments``: one after the other, (dictionary, how many keys of it)."""

    path: Path
    segments: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        return sum(count for _, count in self.segments)

    def read(self) -> Iterator[tuple[int, Keys]]:
        """Read (dictionary, keys) in order, in blocks."""
        at = 0
        for dictionary, count in self.segments:
            for first in range(0, count, BLOCK):
                size = min(BLOCK, count - first)
                yield dictionary, read_numbers(self.path, np.uint32, size, (at + first) * KEY_BYTES)
            at += count


def key_list_bytes(count: int) -> int:
    """What ``count`` keys take in a list."""
    return count * KEY_BYTES


class KeyListWriter:
    """Appends keys to a new file at ``path``. When it is closed, ``listed`` describes the file."""

    def __init__(self, path: Path):
        self._path = path
        self._file = open(path, "wb")  # noqa: SIM115
        self._segments: list[tuple[int, int]] = []

    def append(self, dictionary: int, keys: Keys) -> None:
        self._file.write(keys.data)
        if self._segments and self._segments[-1][0] == dictionary:
            self._segments[-1] = dictionary, self._segments[-1][1] + len(keys)
        else:
            self._segments.append((dictionary, len(keys)))

    @property
    def listed(self) -> KeyList:
        return KeyList(self._path, tuple(self._segments))

    def __enter__(self) -> KeyListWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
