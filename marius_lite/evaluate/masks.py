"""Which scores of each tile are left out: known answers, and the positive itself."""

from __future__ import annotations

import numpy as np
import torch

from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.known import Known
from marius_lite.evaluate.queries import Queries
from marius_lite.evaluate.scorer import CANDIDATES


class Masks:
    """For the candidates of partition k; ``known`` are its known answers."""

    def __init__(self, queries: Queries, candidates: Candidates, k: int, known: Known):
        tiles = known.position // CANDIDATES
        order = np.argsort(tiles, kind="stable")
        self._queries = queries
        self._tiles = tiles[order]
        self._keys, self._positions = known.key[order], known.position[order]
        self._answers = np.full(len(queries), -1, np.int64)
        offsets = queries.answer - candidates.first_id(k)
        here = np.flatnonzero((offsets >= 0) & (offsets < candidates.partition_size(k)))
        self._answers[here] = candidates.positions(k, offsets[here])

    def tile(self, start: int, stop: int, low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Indices (query, candidate) inside the tile of queries [start, stop) and candidates [low, high)."""
        queries = self._queries
        tile = slice(*np.searchsorted(self._tiles, (low // CANDIDATES, low // CANDIDATES + 1)))
        keys, positions = self._keys[tile], self._positions[tile]
        near = slice(*np.searchsorted(keys, (queries.key[start], queries.key[stop - 1] + 1)))
        keys, positions = keys[near], positions[near]
        firsts = np.maximum(queries.starts[keys], start)
        lengths = np.minimum(queries.starts[keys + 1], stop) - firsts
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        answers = self._answers[start:stop]
        own = np.flatnonzero((answers >= low) & (answers < high))
        rows = np.concatenate([np.repeat(firsts, lengths) + within - start, own])
        columns = np.concatenate([np.repeat(positions, lengths), answers[own]]) - low
        return torch.from_numpy(rows), torch.from_numpy(columns)
