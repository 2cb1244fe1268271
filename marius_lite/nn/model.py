"""Link prediction without an encoder: node rows and relations in, the loss and the rows' gradients out."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from marius_lite._native import segment_sum, sort_rows
from marius_lite.errors import RunError, UserError
from marius_lite.nn.decoders import DECODERS
from marius_lite.nn.decoders.base import Values
from marius_lite.nn.dropout import Dropout
from marius_lite.nn.encoders import CustomEncoder, Encoder
from marius_lite.nn.losses import LOSSES, Loss
from marius_lite.nn.regularizer import add_n3_gradient
from marius_lite.nn.scoring import score_side, scores
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import Batch, DeviceBatch, RowGrads, Rows

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class _Side:
    """What one side of a batch gives: its summed loss and gradients, with respect to the gathered rows."""

    loss: Tensor
    entity: Tensor
    relation: Tensor
    positive: Tensor
    negatives: Tensor


class LinkPredictionModel(torch.nn.Module):
    """A decoder with its relations, and what is minimised.

    Per batch: the *sum* over edges and sides of the loss, plus ``n3_weight`` times the sum of |x|^3 over the
    gathered positive rows (sources, destinations, the relations of each side), once per edge, before dropout.
    So the weight is relative to one edge's loss on one side, whatever the batch size. ``dropout`` applies to
    every gathered row: sources, destinations, negatives, relations.

    ``encoder``, where there is one, makes what is gathered here from rows; its weights belong to the model.
    ``relations``, shape (relations or 2 * relations, relation_dim), is the one parameter of its own. With
    ``reciprocal``, queries for sources (side 1) use rows of their own, relation +
    relations, in the formula of side 0.
    """

    def __init__(self, decoder: str, relations: int, dim: int, generator: np.random.Generator, *,
                 reciprocal: bool = False, loss: str = "softmax",
                 loss_options: Mapping[str, Any] | None = None, dropout: float = 0.0,
                 n3_weight: float = 0.0, encoder: Encoder | CustomEncoder | None = None) -> None:
        super().__init__()
        self.encoder = encoder
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
        """`gradients`, with the loss as a number, for a batch on the CPU. RunError when the loss is not finite."""
        sampled = batch.sampled
        loss, grads = self.gradients(batch)
        mean = finite(float(loss), sampled.edges)
        negatives: list[Rows] = [side.reshape(-1) for side in sampled.negatives]
        return mean, RowGrads((sampled.edges.src, sampled.edges.dst, *negatives), grads)

    def gradients(self, batch: DeviceBatch) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The mean loss per edge and side (without the regularizer; float64), and the gradients of the batch's rows.

        Trains side 0 and, where the batch has negatives for it, side 1. The gradients, (rows, dim) each and contiguous, are
        those of the sources, the destinations, then each side's negatives. ``relations.grad`` is replaced; the batch's tensors
        stay as they are. On a GPU nothing waits for the result.
        """
        dropout = Dropout(self.dropout, batch.sampled.seed, batch.src.device, self._workspace)
        ends = dropout("src", batch.src), dropout("dst", batch.dst)
        sides = [self._learn_side(side, batch, ends, dropout) for side in range(len(batch.negatives))]
        loss = torch.stack([side.loss for side in sides]).sum() / (len(sides) * len(batch.rel))
        self._set_relation_grad(batch, [side.relation for side in sides])
        d_src, d_dst = sides[0].entity, sides[0].positive
        for side in sides[1:]:
            d_src += side.positive
            d_dst += side.entity
        self._regularize(batch.src, dropout.backward_("src", d_src))
        self._regularize(batch.dst, dropout.backward_("dst", d_dst))
        grads = [d_src, d_dst, *(side.negatives for side in sides)]
        return loss, tuple(grad.reshape(-1, grad.shape[-1]).contiguous() for grad in grads)

    @torch.no_grad()
    def query(self, entity: Tensor, rel: Tensor, side: int) -> Tensor:
        """Queries (n, dim) for ranking, from entities (n, dim) and relation ids (n,), without dropout."""
        return self._combine(entity, self._relation_rows(rel, side), side)

    @torch.no_grad()
    def scores(self, query: Tensor, candidates: Tensor) -> Tensor:
        """Scores (n, m) of queries (n, dim) with candidate entities (m, dim): a new tensor."""
        return scores(self.similarity, query, candidates, self._workspace)

    def _learn_side(self, side: int, batch: DeviceBatch, ends: tuple[Tensor, Tensor],
                    dropout: Dropout) -> _Side:
        values = self._relation_rows(batch.rel, side)
        entity = ends[side].detach().requires_grad_()
        relation = dropout("rel", values).detach().requires_grad_()
        query = self._combine(entity, relation, side)
        grads = score_side(self.similarity, self.loss, query.detach(), ends[1 - side],
                           dropout("neg", batch.negatives[side]), self._workspace)
        d_entity, d_relation = torch.autograd.grad(query, (entity, relation), grads.query, allow_unused=True,
                                                   materialize_grads=True)
        if d_relation.data_ptr() == d_entity.data_ptr():  # a sum hands the same tensor to both its terms
            d_relation = d_relation.clone()
        self._regularize(values, dropout.backward_("rel", d_relation))
        d_negatives = dropout.backward_("neg", grads.negatives)
        return _Side(grads.loss, d_entity, d_relation, grads.positive, d_negatives)

    def _combine(self, entity: Tensor, relation: Tensor, side: int) -> Tensor:
        return self.decoder.query(entity, relation, 0 if self.reciprocal else side)

    def _relation_rows(self, rel: Tensor, side: int) -> Tensor:
        return self.relations.detach()[self._relation_ids(rel, side)]

    def _relation_ids(self, rel: Tensor, side: int) -> Tensor:
        return rel + self.relation_count if self.reciprocal and side == 1 else rel

    def _regularize(self, values: Tensor, grad: Tensor) -> None:
        if self.n3_weight:
            add_n3_gradient(self.decoder, values, self.n3_weight, grad)

    def _set_relation_grad(self, batch: DeviceBatch, parts: Sequence[Tensor]) -> None:
        """Sum the parts, one a side, by relation id, in an order that is always the same."""
        if self.relations.numel() == 0:
            return
        ids = torch.cat([self._relation_ids(batch.rel, side) for side in range(len(parts))])
        grad = torch.zeros_like(self.relations)
        if grad.is_cuda:  # there, an accumulating index_put_ sorts first
            grad.index_put_((ids,), torch.cat(list(parts)), accumulate=True)
        else:
            unique, order, starts = sort_rows(ids.numpy())
            sums = torch.empty(len(unique), grad.shape[1])
            segment_sum([part.contiguous().numpy() for part in parts], order, starts, sums.numpy())
            grad[torch.from_numpy(unique)] = sums
        self.relations.grad = grad


def initial_values(generator: np.random.Generator, count: int, dim: int, decoder: str) -> Values:
    """Node rows to start from, (count, dim) float32, in the range that suits the decoder."""
    return _entry(DECODERS, "model.decoder", decoder).initial_entities(generator, count, dim)


def finite(loss: float, batch: Batch) -> float:
    """The mean loss of a batch, as it is. RunError when it is not finite."""
    if not math.isfinite(loss):
        raise RunError(f"the loss is {loss} in epoch {batch.epoch}, step {batch.step}, batch {batch.index}: "
                       "lower the learning rates (optimizer.rows.lr, optimizer.dense.lr) and train anew, or "
                       "resume from a checkpoint before it")
    return loss


def _loss(name: str, options: Mapping[str, Any]) -> Loss:
    kind = _entry(LOSSES, "loss.name", name)
    known = inspect.signature(kind).parameters
    for key in options:
        if key not in known:
            raise UserError(f"loss.{key}: no option of loss {name}, which has {', '.join(known) or 'none'}")
    return kind(**options)


def _entry(table: Mapping[str, Entry], key: str, name: str) -> Entry:
    if name not in table:
        raise UserError(f"{key}: found {name!r}, allowed are {', '.join(table)}")
    return table[name]
