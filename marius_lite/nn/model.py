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
from marius_lite.nn.decoders import DECODERS, Draw
from marius_lite.nn.dropout import Dropout
from marius_lite.nn.encoders import CustomEncoder, Encoder
from marius_lite.nn.losses import LOSSES, Loss, Softmax
from marius_lite.nn.regularizer import add_n3_gradient
from marius_lite.nn.scoring import score_side, scores
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import Batch, DeviceBatch, Pairs, RowGrads, Rows

Entry = TypeVar("Entry")

RELATION_LOSS = Softmax()


@dataclass(frozen=True)
class _Side:
    """What one side of a batch gives: its summed loss and gradients, with respect to the gathered rows before dropout, but for
    those of the ``entity`` and the ``positive``."""

    loss: Tensor
    entity: Tensor
    relation: Tensor
    positive: Tensor
    negatives: Tensor


class LinkPredictionModel(torch.nn.Module):
    """A decoder with its relations, and what is minimised.

    Per batch: the *sum* over edges and sides of

    - the loss;
    - ``n3_weight`` times ``n3_share``, which a schedule may set, times the sum of |x|^3 over source, relation and destination,
      before dropout (Lacroix et al., ICML 2018);
    - ``relation_weight`` times the cross-entropy of the relation among all relations, given source and destination (Chen et
      al., AKBC 2021), for decoders that can ask for it.

    So both weights are relative to one edge's loss on one side, whatever the batch size. ``dropout`` applies to
    every gathered row: sources, destinations, negatives, relations.

    ``encoder``, where there is one, makes what is gathered here from rows; its weights belong to the model.
    ``relations``, shape (relations or 2 * relations, relation_dim), is the one parameter of its own. With
    ``reciprocal``, queries for sources (side 1) use rows of their own, relation +
    relations, in the formula of side 0.
    """

    def __init__(self, decoder: str, relations: int, dim: int, generator: np.random.Generator, *,
                 reciprocal: bool = False, loss: str = "softmax",
                 loss_options: Mapping[str, Any] | None = None, dropout: float = 0.0,
                 n3_weight: float = 0.0, relation_weight: float = 0.0, relation_draw: Draw | None = None,
                 encoder: Encoder | CustomEncoder | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = _entry(DECODERS, "model.decoder", decoder)
        self.decoder.check(dim)
        self.similarity = SIMILARITIES[self.decoder.similarity]
        self.loss = _loss(loss, loss_options or {})
        self.relation_count = relations
        self.reciprocal = reciprocal
        self.dropout = dropout
        self.n3_weight, self.n3_share = n3_weight, 1.0
        self.relation_weight = relation_weight
        draw = relation_draw or self.decoder.relation_draw(dim)
        values = draw(generator, relations * (2 if reciprocal else 1), self.decoder.relation_dim(dim))
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
        """The mean loss per edge and side (alone, without what is added to it; float64), and the gradients of the batch's rows.

        Trains side 0 and, where the batch has negatives for it, side 1. The gradients, (rows, dim) each and contiguous, are
        those of the sources, the destinations, then each set of negatives. ``relations.grad`` is replaced; the batch's tensors
        stay as they are. On a GPU nothing waits for the result.
        """
        sampled = batch.sampled
        dropout = Dropout(self.dropout, sampled.seed, batch.src.device, self._workspace)
        ends = dropout("src", batch.src), dropout("dst", batch.dst)
        shared = dropout("neg", batch.negatives[0]) if sampled.shared else None
        sides = [self._learn_side(side, batch, ends, shared, dropout) for side in range(sampled.sides)]
        loss = torch.stack([side.loss for side in sides]).sum() / (len(sides) * len(batch.rel))
        d_src, d_dst = sides[0].entity, sides[0].positive
        for side in sides[1:]:
            d_src += side.positive
            d_dst += side.entity
        d_relations = self._predict_relations(batch, ends, d_src, d_dst) if self.relation_weight else None
        self._set_relation_grad(batch, [side.relation for side in sides], d_relations)
        self._regularize(batch.src, dropout.backward_("src", d_src), sampled.sides)
        self._regularize(batch.dst, dropout.backward_("dst", d_dst), sampled.sides)
        negatives = [side.negatives for side in sides]
        if sampled.shared:
            negatives = [dropout.backward_("neg", negatives[0].add_(negatives[1]))]
        grads = [d_src, d_dst, *negatives]
        return loss, tuple(grad.reshape(-1, grad.shape[-1]).contiguous() for grad in grads)

    @torch.no_grad()
    def query(self, entity: Tensor, rel: Tensor, side: int) -> Tensor:
        """Queries (n, dim) for ranking, from entities (n, dim) and relation ids (n,), without dropout."""
        return self._combine(entity, self._relation_rows(rel, side), side)

    @torch.no_grad()
    def scores(self, query: Tensor, candidates: Tensor) -> Tensor:
        """Scores (n, m) of queries (n, dim) with candidate entities (m, dim): a new tensor."""
        return scores(self.similarity, query, candidates, self._workspace)

    def _learn_side(self, side: int, batch: DeviceBatch, ends: tuple[Tensor, Tensor], shared: Tensor | None,
                    dropout: Dropout) -> _Side:
        values = self._relation_rows(batch.rel, side)
        entity = ends[side].detach().requires_grad_()
        relation = dropout("rel", values).detach().requires_grad_()
        query = self._combine(entity, relation, side)
        negatives = dropout("neg", batch.negatives[side]) if shared is None else shared
        left_out = batch.sampled.left_out[side] if batch.sampled.left_out else None
        correction = batch.sampled.corrections[side] if batch.sampled.corrections else None
        grads = score_side(self.similarity, self.loss, query.detach(), ends[1 - side], negatives, self._workspace, left_out,
                           correction)
        d_entity, d_relation = torch.autograd.grad(query, (entity, relation), grads.query, allow_unused=True,
                                                   materialize_grads=True)
        if d_relation.data_ptr() == d_entity.data_ptr():  # a sum hands the same tensor to both its terms
            d_relation = d_relation.clone()
        self._regularize(values, dropout.backward_("rel", d_relation))
        d_negatives = dropout.backward_("neg", grads.negatives) if shared is None else grads.negatives
        return _Side(grads.loss, d_entity, d_relation, grads.positive, d_negatives)

    def _predict_relations(self, batch: DeviceBatch, ends: tuple[Tensor, Tensor], d_src: Tensor, d_dst: Tensor) -> Tensor:
        """The relation of each edge among all relations: adds to its ends' gradients; the gradient of the relation table.

        Relations are to the ends' query what nodes are to another: their own is the positive, all of them are negatives.
        """
        table = self.relations.detach()
        total = torch.zeros_like(table)
        everything = np.arange(len(batch.rel))
        for side in range(2 if self.reciprocal else 1):
            source, target = ends[side].detach().requires_grad_(), ends[1 - side].detach().requires_grad_()
            query = self.decoder.relation_query(source, target)
            rel = batch.sampled.edges.rel + (self.relation_count if side else 0)
            ids = self._relation_ids(batch.rel, side)
            grads = score_side(self.similarity, RELATION_LOSS, query.detach(), table[ids], table[None], self._workspace,
                               Pairs(everything, rel))
            d_source, d_target = torch.autograd.grad(query, (source, target), grads.query)
            d_src.add_(d_target if side else d_source, alpha=self.relation_weight)
            d_dst.add_(d_source if side else d_target, alpha=self.relation_weight)
            total.add_(grads.negatives[0], alpha=self.relation_weight)
            total += self._by_relation(batch.rel, [grads.positive], [side]).mul_(self.relation_weight)
        return total

    def _combine(self, entity: Tensor, relation: Tensor, side: int) -> Tensor:
        return self.decoder.query(entity, relation, 0 if self.reciprocal else side)

    def _relation_rows(self, rel: Tensor, side: int) -> Tensor:
        return self.relations.detach()[self._relation_ids(rel, side)]

    def _relation_ids(self, rel: Tensor, side: int) -> Tensor:
        return rel + self.relation_count if self.reciprocal and side == 1 else rel

    def _regularize(self, values: Tensor, grad: Tensor, times: int = 1) -> None:
        if self.n3_weight:
            add_n3_gradient(self.decoder, values, times * self.n3_weight * self.n3_share, grad)

    def _set_relation_grad(self, batch: DeviceBatch, parts: Sequence[Tensor], more: Tensor | None) -> None:
        """The parts' sum, one a side, by relation, and what there is more."""
        if self.relations.numel() == 0:
            return
        grad = self._by_relation(batch.rel, parts, range(len(parts)))
        self.relations.grad = grad if more is None else grad.add_(more)

    def _by_relation(self, rel: Tensor, parts: Sequence[Tensor], sides: Sequence[int]) -> Tensor:
        """The parts (n, relation_dim), one a side, summed by relation in an order that is always the same: like ``relations``."""
        ids = torch.cat([self._relation_ids(rel, side) for side in sides])
        grad = torch.zeros_like(self.relations)
        if grad.is_cuda:  # there, an accumulating index_put_ sorts first
            grad.index_put_((ids,), torch.cat(list(parts)), accumulate=True)
        else:
            unique, order, starts = sort_rows(ids.numpy())
            sums = torch.empty(len(unique), grad.shape[1])
            segment_sum([part.contiguous().numpy() for part in parts], order, starts, sums.numpy())
            grad[torch.from_numpy(unique)] = sums
        return grad


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
