"""How many candidates of one partition beat, or tie with, the true answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.errors import RunError
from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.known import Known
from marius_lite.evaluate.queries import Queries
from marius_lite.evaluate.scorer import CANDIDATES, QUERIES, Tiles

Ids = npt.NDArray[np.int64]


class Counts:
    """Candidates above each query's positive score, and not below it.

    Shapes: ``vectors`` (n, dim); ``positives``, the scores, (n,).
    """

    def __init__(self, queries: Queries, vectors: torch.Tensor, positives: torch.Tensor):
        self.queries = queries
        self.vectors = vectors
        self.positives = positives[:, None]
        self.above = torch.zeros(len(queries), dtype=torch.int64, device=vectors.device)
        self.not_below = torch.zeros_like(self.above)

    def add(self, tiles: Tiles, rows: npt.NDArray[np.float32], candidates: Candidates, k: int, known: Known,
            first: int, last: int) -> None:
        """Count partition k's candidates for questions first to last - 1, without their ``known`` answers.

        ``rows`` (partition size, dim) are the values of the partition. The positive itself is left out too.
        """
        begin, end = int(self.queries.starts[first]), int(self.queries.starts[last])
        masks = _Masks(self.queries, candidates, k, len(rows), known)
        count = candidates.count(k)
        for low in range(0, count, CANDIDATES):
            high = min(low + CANDIDATES, count)
            tiles.load(rows[candidates.offsets(k, low, high)])
            for start in range(begin, end, QUERIES):
                stop = min(start + QUERIES, end)
                scores = tiles.scores(self.vectors[start:stop])
                check_numbers(scores, self.queries.rel[start:stop])
                scores[masks.tile(start, stop, low, high)] = torch.nan  # not above, not below, not equal
                self.above[start:stop] += (scores > self.positives[start:stop]).sum(1)
                self.not_below[start:stop] += (scores >= self.positives[start:stop]).sum(1)


class _Masks:
    """Which scores of each tile are left out."""

    def __init__(self, queries: Queries, candidates: Candidates, k: int, size: int, known: Known):
        tiles = known.position // CANDIDATES
        order = np.argsort(tiles, kind="stable")
        self._queries = queries
        self._tiles = tiles[order]
        self._keys, self._positions = known.key[order], known.position[order]
        self._answers = np.full(len(queries), -1, np.int64)
        offsets = queries.answer - candidates.first_id(k)
        here = np.flatnonzero((offsets >= 0) & (offsets < size))
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


def check_numbers(scores: torch.Tensor, rel: Ids) -> None:
    """RunError where a score (n, ...) of queries with relations ``rel`` (n,) is NaN."""
    # A sum is one pass without a temporary: NaN spreads into it. Infinities do as well, so look again.
    if not torch.isfinite(scores.sum()) and bool(torch.isnan(scores).any()):
        row = int(torch.isnan(scores.reshape(len(scores), -1)).any(1).nonzero()[0])
        raise RunError(f"a score of relation {rel[row]} is not a number (NaN): the model has diverged; train "
                       "again with a smaller optimizer.rows.lr, or evaluate an earlier checkpoint")
