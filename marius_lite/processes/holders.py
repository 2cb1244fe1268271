"""Which processes have the newest file of each partition, where they do not all see the same folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple


class Move(NamedTuple):
    """A partition's file that process ``source`` sends to process ``target``."""

    partition: int
    source: int
    target: int


class Holders:
    """Keeps account of files in several folders. Every process makes the same calls, and so knows the same.

    ``folders``: by process, the number of the folder that it has; the first process's is 0, and has all ``partitions`` at first.
    """

    def __init__(self, partitions: Iterable[int], folders: Sequence[int]):
        self._folders = folders
        self._newest = {k: {0: 0} for k in partitions}
        """For each partition: the folders that have its newest file, and a process of each."""

    def written(self, rank: int, partitions: Iterable[int]) -> None:
        """Take note that a process has written these partitions: all other files of them are old now."""
        for k in partitions:
            self._newest[k] = {self._folders[rank]: rank}

    def bring(self, needed: Mapping[int, Collection[int]]) -> list[Move]:
        """Return the moves after which each process has the newest files of the partitions that it needs.

        ``needed``: partitions by process. The moves are in order of the partitions. Done one after another by all processes,
        each its own, they never wait for each other in a circle.
        """
        moves = []
        for k, rank in sorted((k, rank) for rank, partitions in needed.items() for k in set(partitions)):
            newest, folder = self._newest[k], self._folders[rank]
            if folder not in newest:
                moves.append(Move(k, newest[min(newest)], rank))
                newest[folder] = rank
        return moves
