"""Compare nodes with nodes: by the model's own similarity, or by the cosine of the angle between their vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from marius_lite.nn.model import LinkPredictionModel


class NodeScorer:
    """Scores of nodes with nodes by the model's similarity, without biases. It is an `evaluate.scorer.Scorer`; there are no
    relations, each question has relation 0."""

    relation_count = 1

    def __init__(self, model: LinkPredictionModel):
        self._model = model

    @property
    def relations(self) -> Tensor:
        return self._model.relations

    @torch.no_grad()
    def query(self, entity: Tensor, rel: Tensor, side: int) -> Tensor:
        """Return queries (n, dim) from rows (n, dim)."""
        return self._model.decoded(entity)

    def scores(self, query: Tensor, candidates: Tensor) -> Tensor:
        """Return the similarities (n, m) of queries (n, dim) with rows (m, dim)."""
        return self._model.scores(query, candidates)


class CosineScorer(NodeScorer):
    """The same by the cosine of the angle between two vectors, without biases: from -1 to 1, 0 with a vector of zeros."""

    def query(self, entity: Tensor, rel: Tensor, side: int) -> Tensor:
        return self.directions(entity)

    @torch.no_grad()
    def scores(self, query: Tensor, candidates: Tensor) -> Tensor:
        return (query @ self.directions(candidates).T).clamp_(-1.0, 1.0)

    @torch.no_grad()
    def directions(self, rows: Tensor) -> Tensor:
        """Return rows (n, dim) as vectors of length 1."""
        return torch.nn.functional.normalize(self._model.decoded(rows), eps=1e-12)
