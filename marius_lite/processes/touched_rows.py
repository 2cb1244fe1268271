"""Send vectors of which most rows may be zero: what a batch learned of the relations, of which it touches few.

Each vector is sent whole, or as its touched rows with their places, whichever is fewer bytes. Both ways give the same bits. All
messages of a turn have one size, so there is *room* for a number of touched rows. It follows from what was touched before, which
everyone knows alike. What has no room follows in a second message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

LOOKS = 16
"""Turns, from the first one on, after which it is looked whether touched rows of vectors that are sent whole are fewer bytes."""
SPARE = 1.25
"""Room for touched rows, as a multiple of the most that a lane touched in the turn before."""

Exchange = Callable[[Sequence[Tensor]], list[Tensor]]
"""Gives tensors of this process's lanes to all, and returns those of all lanes, in order. All have one size."""


class TouchedRows:
    """Sends vectors of ``size`` numbers, float32, which end with rows of ``width`` numbers. Everyone makes the same calls."""

    def __init__(self, size: int, width: int):
        self._width, self._rows = width, size // width
        self._lead = size - self._rows * width
        self._room = self._rows
        self._turn = 0

    def exchanged(self, mine: Sequence[Tensor], exchange: Exchange) -> list[Tensor]:
        """Return the vectors of all lanes. ``mine``: those of this process's lanes."""
        self._turn += 1
        if not self._saves(self._room):
            given = exchange(mine)
            if self._turn % LOOKS == 1:
                self._room = self._room_for(max(len(self._touched(vector)) for vector in given))
            return given
        room = self._room
        touched = [self._touched(vector) for vector in mine]
        sent = [self._packed(vector, places, 0, room) for vector, places in zip(mine, touched)]
        given = exchange([torch.cat([vector[: self._lead], packed]) for vector, packed in zip(mine, sent)])
        vectors = [torch.cat([each[: self._lead], each.new_zeros(self._rows * self._width)]) for each in given]
        counts = [self._unpack(each[self._lead :], vector, 0, room) for each, vector in zip(given, vectors)]
        most = max(counts)
        if most > room:
            rest = exchange([self._packed(vector, places, room, most - room) for vector, places in zip(mine, touched)])
            for each, vector in zip(rest, vectors):
                self._unpack(each, vector, room, most - room)
        self._room = self._room_for(most)
        return vectors

    def _saves(self, room: int) -> bool:
        """Return whether so many rows with their places are fewer bytes than the whole."""
        return 1 + room * (1 + self._width) < self._rows * self._width

    def _room_for(self, touched: int) -> int:
        return min(self._rows, int(SPARE * touched) + 1)

    def _body(self, vector: Tensor) -> Tensor:
        return vector[self._lead :].view(self._rows, self._width)

    def _touched(self, vector: Tensor) -> Tensor:
        """Return the places of the rows with a bit that is not zero, int64."""
        return self._body(vector).view(torch.int32).any(1).nonzero().flatten()

    def _packed(self, vector: Tensor, touched: Tensor, after: int, room: int) -> Tensor:
        """Return how many rows are touched, their places and the rows, as float32: ``room`` of them, ``after`` so many."""
        packed = torch.zeros(1 + room * (1 + self._width))
        places, rows = packed.view(torch.int32)[: 1 + room], packed[1 + room :].view(room, self._width)
        part = touched[after : after + room]
        places[0], places[1 : 1 + len(part)] = len(touched), part
        rows[: len(part)] = self._body(vector)[part]
        return packed

    def _unpack(self, packed: Tensor, vector: Tensor, after: int, room: int) -> int:
        """Put the rows of `_packed` into a vector. Returns how many are touched."""
        places = packed[: 1 + room].clone().view(torch.int32)
        touched = int(places[0])
        count = min(max(touched - after, 0), room)
        self._body(vector)[places[1 : 1 + count].long()] = packed[1 + room :].view(room, self._width)[:count]
        return touched
