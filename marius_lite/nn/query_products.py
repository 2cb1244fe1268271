"""Queries that are products of a node's row and its relation's, and their gradients: on a CPU each takes one pass over memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from marius_lite._native import query_gradients, query_products


@dataclass(frozen=True, slots=True)
class MultipliedRows:
    """The queries of n edges on each side. The bits are those of the decoder's own formula and of torch's gradients.

    ``factors``: whether rows have numbers or complex ones. ``entity``: (sides * n, dim), the known ends. ``relations``: the
    table, of which ``ids`` (sides * n,) are asked for. ``turns``: whether the second side takes conjugate relations.
    """

    factors: Literal["real", "complex"]
    entity: Tensor
    relations: Tensor
    ids: Tensor
    turns: bool

    def queries(self, sides: int) -> Tensor:
        """Return the queries of all sides, (sides * n, dim)."""
        query = torch.empty_like(self.entity)
        for side, (entity, ids, out) in enumerate(zip(*(each.chunk(sides) for each in (self.entity, self.ids, query)))):
            query_products(self.factors, self.turns and side == 1, *self._factors(entity, ids), out.numpy(), _threads())
        return query

    def gradients(self, d_query: Tensor, d_positive: Tensor, sides: int) -> tuple[Tensor, Tensor]:
        """Return the gradients of both ends of all edges, (2 * n, dim), and of the relations that were asked for.

        ``d_query``, ``d_positive``: of each side's queries and answers, (sides * n, dim). One side's answers are the ends that
        the other is asked with.
        """
        edges = len(d_query) // sides
        d_ends, d_relations = self.entity.new_empty((2 * edges, self.entity.shape[1])), torch.empty_like(d_query)
        if sides == 1:
            d_ends[edges:] = d_positive
        others = [each.numpy() for each in d_positive.chunk(2)[::-1]] if sides == 2 else [None]
        for side, other in enumerate(others):
            rows = slice(side * edges, (side + 1) * edges)
            query_gradients(
                self.factors,
                self.turns and side == 1,
                *self._factors(self.entity[rows], self.ids[rows]),
                d_query[rows].numpy(),
                other,
                d_ends[rows].numpy(),
                d_relations[rows].numpy(),
                _threads(),
            )
        return d_ends, d_relations

    def _factors(self, entity: Tensor, ids: Tensor) -> tuple[Any, Any, Any]:
        return entity.numpy(), self.relations.numpy(), ids.numpy()


def _threads() -> int:
    return torch.get_num_threads()
