"""Link prediction without an encoder: node rows and relations in, the loss and the rows' gradients out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import torch

from marius_lite._native import segment_sum, sort_rows
from marius_lite.errors import RunError, UserError
from marius_lite.nn.decoders import DECODERS
from marius_lite.nn.decoders.base import Values
from marius_lite.nn.dropout import Dropout
from marius_lite.nn.losses import LOSSES, Loss
from marius_lite.nn.regularizer import add_n3_gradient
from marius_lite.nn.scoring import score_side, scores
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import DeviceBatch, RowGrads, Rows

Entry = TypeVar("Entry")


class LinkPredictionModel(torch.nn.Module):
    """A decoder with its relations, and what is minimised.

    Per batch: the *sum* over edges and sides of the loss, plus ``n3_weight`` times the sum of |x|^3 over the gathered
    positive rows (sources, destinations, and the relations of each side), once per edge, before dropout. So the weight
    is relative to one edge's loss on one side, whatever the batch size. ``dropout`` applies to every gathered row:
    sources, destinations, negatives, relations.

    ``relations``, shape (relations or 2 * relations, relation_dim), is the one parameter. With ``reciprocal``, queries
    for sources (side 1) use rows of their own, relation + relations, in the formula of side 0.
    """

    def __init__(self, decoder: str, relations: int, dim: int, generator: np.random.Generator, *,
                 reciprocal: bool = False, loss: str = "softmax", loss_options: Mapping[str, Any] | None = None,
                 dropout: float = 0.0, n3_weight: float = 0.0):
        super().__init__()
        self.decoder = _entry(DECODERS, "model.decoder", decoder)
        self.decoder.check(dim)
        self.similarity = SIMILARITIES[self.decoder.similarity]
        self.loss = _loss(loss, loss_options or {})
        self.relation_count = relations
        self.reciprocal = reciprocal
        self.dropout = dropout
        self.n3_weight = n3_weight
        values = self.decoder.initial_relations(generator, relations * (2 if reciprocal else 1), dim)
        self.relations = torch.nn.Parameter(torch.from_numpy(values))
        self._workspace = Workspace()

    def learn(self, batch: DeviceBatch) -> tuple[float, RowGrads]:
        """The mean loss per edge and side (without the regularizer), and the gradients of the batch's rows.

        Adds nothing to ``relations.grad``: it is replaced. The batch's tensors are not changed. RowGrads holds the sources,
        the destinations, then each side's negatives without the frozen ones. RunError when the loss is not finite.
        """
        sampled = batch.sampled
        dropout = Dropout(self.dropout, sampled.seed, batch.src.device, self._workspace)
        ends = [dropout("src", batch.src), dropout("dst", batch.dst)]
        d_queries, d_positives, d_relations, d_negatives, losses = [], [], [], [], []
        for side, negatives in enumerate(batch.negatives):
            relation = self._relation_rows(batch.rel, side)
            leaves = [ends[side].detach().requires_grad_(), dropout("rel", relation).detach().requires_grad_()]
            query = self._combine(*leaves, side)
            grads = score_side(self.similarity, self.loss, query.detach(), ends[1 - side], dropout("neg", negatives),
                               self._workspace, sampled.frozen)
            d_entity, d_relation = torch.autograd.grad(query, leaves, grads.query, allow_unused=True,
                                                       materialize_grads=True)
            losses.append(grads.loss)
            d_queries.append(d_entity)
            d_positives.append(grads.positive)
            d_relations.append(self._regularized(relation, dropout.backward_("rel", d_relation)))
            d_negatives.append(dropout.backward_("neg", grads.negatives))
        mean = self._mean_loss(losses, batch)
        self._set_relation_grad(batch, d_relations)
        d_src = d_queries[0]
        d_dst = d_positives[0]
        if len(losses) == 2:
            d_src += d_positives[1]
            d_dst += d_queries[1]
        d_src = self._regularized(batch.src, dropout.backward_("src", d_src))
        d_dst = self._regularized(batch.dst, dropout.backward_("dst", d_dst))
        return mean, _row_grads(batch, [d_src, d_dst, *d_negatives])

    @torch.no_grad()
    def query(self, entity: torch.Tensor, rel: torch.Tensor, side: int) -> torch.Tensor:
        """Queries (n, dim) for ranking, from entities (n, dim) and relation ids (n,): no dropout, no gradient."""
        return self._combine(entity, self._relation_rows(rel, side), side)

    @torch.no_grad()
    def scores(self, query: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        """Scores (n, m) of queries (n, dim) with candidate entities (m, dim): a new tensor."""
        return scores(self.similarity, query, candidates, self._workspace)

    def _relation_rows(self, rel: torch.Tensor, side: int) -> torch.Tensor:
        return self.relations.detach()[self._relation_ids(rel, side)]

    def _relation_ids(self, rel: torch.Tensor, side: int) -> torch.Tensor:
        return rel + self.relation_count if self.reciprocal and side == 1 else rel

    def _combine(self, entity: torch.Tensor, relation: torch.Tensor, side: int) -> torch.Tensor:
        return self.decoder.query(entity, relation, 0 if self.reciprocal else side)

    def _regularized(self, values: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        if self.n3_weight:
            add_n3_gradient(self.decoder, values, self.n3_weight, grad)
        return grad

    def _mean_loss(self, losses: Sequence[torch.Tensor], batch: DeviceBatch) -> float:
        mean = float(torch.stack(list(losses)).sum()) / (len(losses) * len(batch.rel))
        if not math.isfinite(mean):
            edges = batch.sampled.edges
            raise RunError(f"the loss is {mean} in epoch {edges.epoch}, step {edges.step}, batch {edges.index}: "
                           "lower the learning rates (optimizer.rows.lr, optimizer.dense.lr) and start anew or "
                           "resume from a checkpoint before it")
        return mean

    def _set_relation_grad(self, batch: DeviceBatch, parts: Sequence[torch.Tensor]) -> None:
        """Sum the parts, one a side, by relation id, in an order that is always the same."""
        if self.relations.numel() == 0:
            return
        ids = torch.cat([self._relation_ids(batch.rel, side) for side in range(len(parts))])
        grad = torch.zeros_like(self.relations)
        if grad.is_cuda:  # there, accumulating index_put_ sorts first
            grad.index_put_((ids,), torch.cat(list(parts)), accumulate=True)
        else:
            unique, order, starts = sort_rows(ids.numpy())
            sums = torch.empty(len(unique), grad.shape[1])
            segment_sum([part.numpy() for part in parts], order, starts, sums.numpy())
            grad[torch.from_numpy(unique)] = sums
        self.relations.grad = grad


def initial_values(generator: np.random.Generator, count: int, dim: int, decoder: str) -> Values:
    """Node rows to start from, (count, dim) float32, in the range that suits the decoder."""
    return _entry(DECODERS, "model.decoder", decoder).initial_entities(generator, count, dim)


def _row_grads(batch: DeviceBatch, grads: Sequence[torch.Tensor]) -> RowGrads:
    """The gradients on the host, (rows, dim) each, beside the rows they belong to."""
    sampled = batch.sampled
    live = sampled.negatives.shape[2] - sampled.frozen
    negatives: list[Rows] = [side[:, :live].reshape(-1) for side in sampled.negatives]
    return RowGrads(rows=(sampled.edges.src, sampled.edges.dst, *negatives),
                    grads=tuple(grad.reshape(-1, grad.shape[-1]).cpu() for grad in grads))


def _loss(name: str, options: Mapping[str, Any]) -> Loss:
    kind = _entry(LOSSES, "loss.name", name)
    known = [field.name for field in fields(kind)]
    for key in options:
        if key not in known:
            raise UserError(f"loss.{key}: unknown option, loss {name} has {', '.join(known) or 'none'}")
    return kind(**options)


def _entry(table: Mapping[str, Entry], key: str, name: str) -> Entry:
    if name not in table:
        raise UserError(f"{key}: found {name!r}, allowed are {', '.join(table)}")
    return table[name]
