"""An open index: it finds the nodes near a query in its lists, and scores them exactly by their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.evaluate.scorer import Scorer, Tiles
from marius_lite.search.faiss_lists import FaissLists
from marius_lite.search.index_folder import VECTORS, IndexOnDisk
from marius_lite.search.kinds import IndexPlan
from marius_lite.storage.row_groups import RowGroups
from marius_lite.storage.table import RowTable
from marius_lite.types import Ids

Scores = npt.NDArray[np.float32]
PAIRS = 1 << 15
"""Pairs of a query and a node that are scored together."""


class Probing(NamedTuple):
    """How far to look: into ``probes`` lists for each query. ``fetched`` nodes of them are scored exactly."""

    probes: int
    fetched: int

    def scaled(self, topk: int) -> Probing:
        """Return how far to look for so many answers, where ``fetched`` is meant for one."""
        return Probing(self.probes, self.fetched * topk)


class VectorIndex:
    """The vectors of all nodes, to be searched. ``dim``: numbers of a row. ``table``: the rows behind it."""

    def __init__(self, lists: FaissLists, rows: RowGroups, table: RowTable, dim: int):
        self._lists, self._rows, self.table, self._dim = lists, rows, table, dim

    @classmethod
    def open(cls, folder: IndexOnDisk, table: RowTable | None, dim: int, threads: int) -> VectorIndex:
        """Read an index into memory. ``table``: the run's rows; the index has the vectors of an encoder.

        Raises UserError where faiss is missing, RunError where a file is damaged.
        """
        record = folder.record
        plan = IndexPlan(**record["plan"])
        lists = FaissLists(plan, record["measure"] == "l2", threads)
        lists.restore(folder.array("learned", np.uint8).tobytes())
        counts = folder.array("counts", np.int64).tolist()
        codes = folder.parts("codes", np.uint8, [count * lists.code_bytes for count in counts])
        lists.fill(zip(codes, folder.parts("nodes", np.int64, counts), strict=True))
        if record["rows"] == VECTORS:
            table = RowTable.open(folder.path / VECTORS)
        assert table is not None
        sums = folder.array("groups", np.uint32).reshape(table.partitions, -1)
        return cls(lists, RowGroups(table, sums), table, dim)

    def rows(self, nodes: Ids) -> Scores:
        """Return the rows of nodes, (n, dim) float32."""
        return self._rows.read(nodes, self._dim)

    def near(
        self, scorer: Scorer, vectors: torch.Tensor, rel: Ids, probing: Probing, chosen: npt.NDArray[np.uint8] | None = None
    ) -> Iterator[tuple[slice, Ids, Scores]]:
        """Yield (which queries, nodes near them, their exact scores), (m, fetched) each; -1 and -inf where there are fewer.

        ``vectors`` (n, dim) and ``rel`` (n,) are those of the queries. ``chosen``: a bit for each node that may be found.
        """
        step = max(1, PAIRS // probing.fetched)
        queries = vectors.cpu().numpy()
        for start in range(0, len(queries), step):
            part = slice(start, min(start + step, len(queries)))
            nodes = self._lists.search(queries[part], probing.fetched, probing.probes, chosen)
            yield part, nodes, self._scores(scorer, vectors[part], rel[part], nodes)

    def _scores(self, scorer: Scorer, vectors: torch.Tensor, rel: Ids, nodes: Ids) -> Scores:
        """Return the scores of queries (n, dim) with nodes of their own (n, k). They have the bits that a full ranking has."""
        distinct, place = np.unique(nodes, return_inverse=True)
        absent = int(len(distinct) > 0 and distinct[0] < 0)
        place = place.reshape(nodes.shape) - absent
        rows = self._rows.read(distinct[absent:], self._dim)
        tiles, scores = Tiles(scorer, self._dim), np.empty((len(vectors), len(rows)), np.float32)
        at_once = tiles.shape.candidates
        for low in range(0, len(rows), at_once):
            tiles.load(rows[low : low + at_once])
            for begin, stop, tile in tiles.scores(vectors, rel, 0, len(vectors)):
                scores[begin:stop, low : low + tile.shape[1]] = tile.cpu().numpy()
        if not len(rows):
            return np.full(nodes.shape, -np.inf, np.float32)
        found: Scores = np.take_along_axis(scores, np.maximum(place, 0), 1)
        found[place < 0] = -np.inf
        return found

    def close(self) -> None:
        self._rows.close()


def best_of(nodes: Ids, scores: Scores, topk: int) -> tuple[Any, Any]:
    """Return the ``topk`` best of each row (n, k), best first, equal scores by ascending node id; -1 where the score is -inf."""
    order = np.lexsort((nodes, -scores), axis=1)[:, :topk]
    best, values = np.take_along_axis(nodes, order, 1), np.take_along_axis(scores, order, 1)
    best[values == -np.inf] = -1
    return best, values
