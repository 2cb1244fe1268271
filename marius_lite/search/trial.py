"""Try an index: some questions are answered exactly while it is made, and it looks as far as it must to find the same answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.evaluate.best import BestAnswers
from marius_lite.evaluate.edges import select_edges
from marius_lite.evaluate.queries import Queries
from marius_lite.evaluate.sampling import distinct
from marius_lite.evaluate.scorer import Scorer, Tiles, query_vectors
from marius_lite.log import log
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.search.comparing import CosineScorer, NodeScorer
from marius_lite.search.vector_index import Probing, VectorIndex, best_of
from marius_lite.seeds import generator_for
from marius_lite.tasks.checkpoint import Checkpoint
from marius_lite.types import Ids

QUESTIONS = 256
"""Questions of a kind."""
TOP = 10
FIRST = Probing(4, 4)
MOST_FETCHED = 64
GAIN = 0.002
"""The share of the answers that twice as many lists must find more."""
NONE = (torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64))


class TrialQuestions:
    """Questions of one kind, with their exact answers once all rows have been seen. ``name``: the kind, in what is reported."""

    def __init__(self, name: str, scorer: Scorer, queries: Queries, dim: int):
        self.name, self.scorer, self.queries = name, scorer, queries
        self.vectors = torch.empty(0, dim)
        self._best = BestAnswers(len(queries), TOP + 1, torch.device("cpu"))
        self._tiles = Tiles(scorer, dim)

    def ask(self, nodes: Ids, rows: npt.NDArray[np.float32]) -> None:
        """Take the rows (n, dim) of ascending ``nodes``, which have those that the questions are about."""
        queries = self.queries
        self.vectors = query_vectors(self.scorer, rows, np.searchsorted(nodes, queries.node), queries.rel, queries.side)

    @torch.no_grad()
    def see(self, first: int, rows: npt.NDArray[np.float32]) -> None:
        """Take the rows (n, dim) of the nodes from id ``first`` on. All nodes come, in order."""
        at_once = self._tiles.shape.candidates
        for low in range(0, len(rows), at_once):
            self._tiles.load(rows[low : low + at_once])
            ids = torch.arange(first + low, first + min(low + at_once, len(rows)))
            for begin, stop, scores in self._tiles.scores(self.vectors, self.queries.rel, 0, len(self.queries)):
                self._best.add(begin, stop, scores, ids, NONE)

    def recall(self, index: VectorIndex, probing: Probing) -> float:
        """Return which share of the exact answers the index finds."""
        found = total = 0
        for part, nodes, scores in index.near(self.scorer, self.vectors, self.queries.rel, probing.scaled(TOP)):
            own = self.queries.node[part][:, None]
            exact = self._best.nodes.numpy()[part]
            for true, said in zip(_others(exact, own), _others(best_of(nodes, scores, TOP + 1)[0], own), strict=True):
                found, total = found + len(true & said), total + len(true)
        return found / max(1, total)


def _others(nodes: Ids, own: Ids) -> list[set[int]]:
    """Return the first TOP nodes of each row, without the node that the question is about."""
    return [set([node for node in row if node not in (-1, mine)][:TOP]) for row, (mine,) in zip(nodes.tolist(), own.tolist())]


class Trial:
    """Questions to try an index with: which nodes are near a node, and, for the model's own similarity, what completes edges."""

    def __init__(self, kinds: list[TrialQuestions]):
        self._kinds = kinds
        self.nodes = np.unique(np.concatenate([kind.queries.node for kind in kinds]))

    @classmethod
    def drawn(cls, found: Checkpoint, model: LinkPredictionModel, cosine: CosineScorer | None) -> Trial:
        """Draw the questions, by the run's seed."""
        seed, dim, count = found.config.training.seed, found.config.model.dim, found.dataset.manifest.nodes
        nodes = distinct(count, min(QUESTIONS, count), generator_for(seed, "search/trial"))
        zeros = np.zeros_like(nodes)
        near = Queries(zeros, nodes, zeros, zeros - 1, 1)
        kinds = [TrialQuestions("neighbors", cosine or NodeScorer(model), near, dim)]
        if cosine is None:
            for edges in select_edges(found.dataset.edges("train"), QUESTIONS // 2, seed):
                kinds.append(TrialQuestions("answers", model, Queries.of_edges(edges, model.relation_count), dim))
        return cls(kinds)

    def ask(self, rows: npt.NDArray[np.float32]) -> None:
        """Take the rows (n, dim) of the nodes ``nodes``."""
        for kind in self._kinds:
            kind.ask(self.nodes, rows)

    def see(self, first: int, rows: npt.NDArray[np.float32]) -> None:
        """Take the rows (n, dim) of the nodes from id ``first`` on. All nodes come, in order."""
        for kind in self._kinds:
            kind.see(first, rows)

    def recalls(self, index: VectorIndex, probing: Probing) -> dict[str, float]:
        """Return the share of the exact answers that the index finds, by kind of question."""
        return {kind.name: kind.recall(index, probing) for kind in self._kinds}

    def tuned(self, index: VectorIndex, lists: int, wanted: float) -> tuple[Probing, dict[str, Any]]:
        """Return how far the index must look to find the share ``wanted`` of the answers, and the share that it finds so.

        It looks into twice as many lists as long as that finds more, then scores four times as many nodes exactly, until what it
        finds is enough.
        """
        probing = Probing(min(FIRST.probes, lists), FIRST.fetched)
        recalls = self.recalls(index, probing)
        while (least := min(recalls.values())) < wanted:
            wider, deeper = probing._replace(probes=min(2 * probing.probes, lists)), probing._replace(fetched=4 * probing.fetched)
            tried = self.recalls(index, wider) if wider != probing else {"": 0.0}
            if min(tried.values()) >= min(wanted, least + GAIN):
                recalls, probing = tried, wider
            elif deeper.fetched <= MOST_FETCHED:
                recalls, probing = self.recalls(index, deeper), deeper
            else:
                log.warning("the index finds %.3f of the answers, less than the %.3f asked for", least, wanted)
                break
        return probing, {f"recall@{TOP} of {name}": value for name, value in recalls.items()}
