"""Tell which scores of a tile are left out, known answers and the positive itself, and which are of the query nodes."""

from __future__ import annotations

import numpy as np
import torch

from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.known import Known
from marius_lite.evaluate.queries import Queries
from marius_lite.evaluate.sending import sent
from marius_lite.types import Ids


class Masks:
    """Masks for the candidates of partition k, ``together`` of them in a tile. ``known``: its known answers. They are made where
    the scores are, on ``device``.
    """

    def __init__(self, queries: Queries, candidates: Candidates, k: int, known: Known, together: int, device: torch.device):
        tiles = known.position // together
        order = np.argsort(tiles, kind="stable")
        self._queries, self._together, self._device = queries, together, device
        self._tiles = tiles[order]
        self._keys, self._positions = known.key[order], known.position[order]
        self._answers, self._selves = (_positions(nodes, candidates, k) for nodes in (queries.answer, queries.node))

    def tile(self, start: int, stop: int, low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores to leave out of the tile of queries [start, stop) and candidates [low, high): (rows, columns)."""
        queries = self._queries
        tile = slice(*np.searchsorted(self._tiles, (low // self._together, low // self._together + 1)))
        keys, positions = self._keys[tile], self._positions[tile]
        near = slice(*np.searchsorted(keys, (queries.key[start], queries.key[stop - 1] + 1)))
        keys, positions = keys[near], positions[near]
        firsts = np.maximum(queries.starts[keys], start)
        lengths = np.minimum(queries.starts[keys + 1], stop) - firsts
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        own, answers = _inside(self._answers[start:stop], low, high)
        rows = np.concatenate([np.repeat(firsts, lengths) + within - start, own])
        columns = np.concatenate([np.repeat(positions, lengths) - low, answers])
        return self._sent(rows, columns)

    def selves(self, start: int, stop: int, low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores of the query nodes themselves, known answers or not: (rows, columns) of the same tile."""
        rows, columns = _inside(self._selves[start:stop], low, high)
        return self._sent(rows, columns)

    def _sent(self, rows: Ids, columns: Ids) -> tuple[torch.Tensor, torch.Tensor]:
        return sent(rows, self._device), sent(columns, self._device)


def _positions(nodes: Ids, candidates: Candidates, k: int) -> Ids:
    """Return the position of each node as a candidate of partition k, -1 where it is none."""
    found = np.full(len(nodes), -1, np.int64)
    offsets = nodes - candidates.first_id(k)
    local = np.flatnonzero((offsets >= 0) & (offsets < candidates.partition_size(k)))
    found[local] = candidates.positions(k, offsets[local])
    return found


def _inside(positions: Ids, low: int, high: int) -> tuple[Ids, Ids]:
    """Return the positions in [low, high): (their places in ``positions``, their columns in the tile)."""
    rows = np.flatnonzero((positions >= low) & (positions < high))
    return rows, positions[rows] - low
