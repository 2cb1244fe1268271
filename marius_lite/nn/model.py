"""The model of link prediction: it takes the rows of nodes and relations, and gives the loss and the gradients of the rows."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from marius_lite._native import segment_sum, sort_rows
from marius_lite.errors import RunError, UserError
from marius_lite.nn.biases import adding_biases, without_biases
from marius_lite.nn.decoders import Draw, EdgeContext, check_dim, decoder_class
from marius_lite.nn.dropout import Dropout
from marius_lite.nn.encoders import CustomEncoder, Encoder
from marius_lite.nn.losses import LOSSES, Loss, Softmax
from marius_lite.nn.scoring import SideScoring, scores
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import Batch, DeviceBatch, Pairs, one_after_another

Entry = TypeVar("Entry")

RELATION_LOSS = Softmax()


Ends = tuple[Tensor, Tensor]
"""The gathered rows of a batch's sources and destinations, (n, dim) each."""


@dataclass(frozen=True)
class _Asked:
    """The queries of one side, and what they were made from.

    ``entity``: rows of the known ends. ``values``: rows of the relations. ``relation``: these after dropout.
    """

    side: int
    entity: Tensor
    values: Tensor
    relation: Tensor
    query: Tensor


@dataclass(frozen=True)
class _Side:
    """The gradients of one side's rows: for ``relation`` of the rows before dropout, for the others of those after it."""

    entity: Tensor
    relation: Tensor
    positive: Tensor


@dataclass(frozen=True)
class _Learned:
    """The result of a batch: its summed loss, the gradients of each side, and those of each set of negatives before dropout."""

    loss: Tensor
    sides: list[_Side]
    negatives: list[Tensor]


@dataclass(frozen=True)
class Objective:
    """What a model minimises. For a batch it is the *sum* over edges and sides of

    - the ``loss``, with its ``options``;
    - ``n3_weight`` times the sum of |x|^3 over source, relation and destination, before dropout (Lacroix et al., ICML 2018);
    - ``relation_weight`` times the cross-entropy of the relation among all relations, given source and destination (Chen et
      al., AKBC 2021), for decoders that can rank relations.

    So both weights are relative to one edge's loss on one side, whatever the batch size. ``dropout`` applies to every gathered
    row: sources, destinations, negatives, relations. ``way``: how scores are computed, see `nn.scoring.SideScoring`.
    ``biases``: whether the last numbers of a row are a node's biases, which scores then contain, see `nn.biases`.
    """

    loss: str = "softmax"
    options: Mapping[str, Any] = field(default_factory=dict)
    dropout: float = 0.0
    n3_weight: float = 0.0
    relation_weight: float = 0.0
    way: str = "torch"
    biases: bool = False


class LinkPredictionModel(torch.nn.Module):
    """A decoder with its weights, the rows of relations, and the objective.

    ``relations``: (relations, relation_dim), or twice as many rows with ``reciprocal``; they are drawn first. With
    ``reciprocal``, queries for sources (side 1) use the formula of side 0 with rows of their own: relation r has row
    r + relations.
    ``encoder``: where there is one, it makes the vectors that this model takes for rows; its weights belong to the model, as the
    decoder's do. ``n3_share`` multiplies the objective's ``n3_weight``; a schedule may change it.
    """

    def __init__(
        self,
        decoder: str,
        relations: int,
        dim: int,
        generator: np.random.Generator,
        objective: Objective | None = None,
        *,
        reciprocal: bool = False,
        relation_draw: Draw | None = None,
        encoder: Encoder | CustomEncoder | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        check_dim(decoder, dim)
        kind = decoder_class(decoder)
        self.similarity = SIMILARITIES[kind.similarity]
        self.objective, self.n3_share = objective or Objective(), 1.0
        self.loss = make_loss(self.objective.loss, self.objective.options)
        self.relation_count = relations
        self.reciprocal = reciprocal
        draw = relation_draw or kind.relation_draw(dim)
        values = draw(generator, relations * (2 if reciprocal else 1), kind.relation_dim(dim))
        self.relations = torch.nn.Parameter(torch.from_numpy(values))
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(generator.integers(1 << 63)))
            self.decoder = kind(dim)
        self._weights = [weight for weight in self.decoder.parameters() if weight.requires_grad]
        self._draws = bool(self._weights or list(self.decoder.children()))
        self._workspace = Workspace()
        self._scoring = SideScoring(self.similarity, self.loss, self._workspace, self.objective.way)
        self._relation_scoring = SideScoring(self.similarity, RELATION_LOSS, self._workspace, self.objective.way)

    def gradients(self, batch: DeviceBatch) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the mean of the loss over edges and sides, float64, and the gradients of the batch's rows.

        The mean has neither the regularizer nor the loss of relations. Side 0 is trained, and side 1 where the batch has
        negatives for it. The gradients, (rows, dim) each and contiguous, are those of the sources, of the destinations, then of
        each set of negatives. ``relations.grad`` and the gradients of the decoder's weights are replaced. The batch's tensors
        stay as they are. On a GPU nothing waits for the result.
        """
        sampled = batch.sampled
        self._begin_decoder(sampled.seed)
        dropout = Dropout(self.objective.dropout, sampled.seed, batch.src.device, self._workspace)
        ends = dropout("src", batch.src), dropout("dst", batch.dst)
        learned = (self._learn_shared if sampled.shared else self._learn_apart)(batch, ends, dropout)
        sides, loss = learned.sides, learned.loss / (sampled.sides * len(batch.rel))
        d_src, d_dst = sides[0].entity, sides[0].positive
        for side in sides[1:]:
            d_src += side.positive
            d_dst += side.entity
        d_relations = self._predict_relations(batch, ends, d_src, d_dst) if self.objective.relation_weight else None
        self._set_relation_grad(batch, [side.relation for side in sides], d_relations)
        self._regularize(batch.src, dropout.backward_("src", d_src), sampled.sides)
        self._regularize(batch.dst, dropout.backward_("dst", d_dst), sampled.sides)
        grads = (grad.reshape(-1, grad.shape[-1]).contiguous() for grad in (d_src, d_dst, *learned.negatives))
        return loss, tuple(grads)

    @torch.no_grad()
    def query(self, entity: Tensor, rel: Tensor, side: int) -> Tensor:
        """Return queries (n, dim) for a ranking, from entities (n, dim) and relation ids (n,), without dropout."""
        training = self.decoder.training
        self.decoder.eval()
        try:
            return self._combine(entity, self._relation_rows(rel, side), side)
        finally:
            self.decoder.train(training)

    @torch.no_grad()
    def scores(self, query: Tensor, candidates: Tensor) -> Tensor:
        """Return the scores (n, m) of queries (n, dim) with candidate entities (m, dim), a new tensor."""
        return scores(self.similarity, query, candidates, self._workspace)

    def _learn_apart(self, batch: DeviceBatch, ends: Ends, dropout: Dropout) -> _Learned:
        """Score each side against negatives of its own."""
        sampled, loss, sides, sets = batch.sampled, [], [], []
        for side in range(sampled.sides):
            asked = self._ask(side, batch, ends, dropout)
            grads = self._scoring(
                asked.query.detach(),
                ends[1 - side],
                dropout("neg", batch.negatives[side]),
                sampled.left_out[side] if sampled.left_out else None,
                sampled.corrections[side] if sampled.corrections else None,
            )
            loss.append(grads.loss)
            sides.append(self._answer(asked, grads.query, grads.positive, dropout))
            sets.append(dropout.backward_("neg", grads.negatives))
        return _Learned(torch.stack(loss).sum(), sides, sets)

    def _learn_shared(self, batch: DeviceBatch, ends: Ends, dropout: Dropout) -> _Learned:
        """Score both sides against one set of negatives.

        They share tiles, so that candidates and their gradients pass through memory once.
        """
        left_out, size = batch.sampled.left_out, len(batch.rel)
        negatives = dropout("neg", batch.negatives[0])
        asked = [self._ask(side, batch, ends, dropout) for side in range(batch.sampled.sides)]
        grads = self._scoring(
            torch.cat([each.query.detach() for each in asked]),
            torch.cat([ends[1 - each.side] for each in asked]),
            negatives,
            one_after_another(left_out, size) if left_out else None,
        )
        pairs = zip(grads.query.chunk(len(asked)), grads.positive.chunk(len(asked)))
        sides = [self._answer(each, *pair, dropout) for each, pair in zip(asked, pairs)]
        return _Learned(grads.loss, sides, [dropout.backward_("neg", grads.negatives)])

    def _ask(self, side: int, batch: DeviceBatch, ends: Ends, dropout: Dropout) -> _Asked:
        """Make the queries of one side."""
        values = self._relation_rows(batch.rel, side)
        entity = ends[side].detach().requires_grad_()
        relation = dropout(f"rel {side}", values).detach().requires_grad_()
        return _Asked(side, entity, values, relation, self._combine(entity, relation, side))

    def _answer(self, asked: _Asked, d_query: Tensor, d_positive: Tensor, dropout: Dropout) -> _Side:
        """Turn the gradients of one side's queries into those of its rows, and regularize its relations."""
        d_entity, d_relation = self._backward(asked.query, (asked.entity, asked.relation), d_query)
        if d_relation.data_ptr() == d_entity.data_ptr():  # a sum hands the same tensor to both its terms
            d_relation = d_relation.clone()
        self._regularize(asked.values, dropout.backward_(f"rel {asked.side}", d_relation))
        return _Side(d_entity, d_relation, d_positive)

    def _predict_relations(self, batch: DeviceBatch, ends: Ends, d_src: Tensor, d_dst: Tensor) -> Tensor:
        """Train to predict the relation of each edge among all relations. Returns the gradient of the relation table.

        The ends of an edge make the query. Its relation is the positive, and all relations are the negatives. The gradients of
        the ends are added to ``d_src`` and ``d_dst``.
        """
        table = self.relations.detach()
        total = torch.zeros_like(table)
        everything = np.arange(len(batch.rel))
        for side in range(2 if self.reciprocal else 1):
            source, target = ends[side].detach().requires_grad_(), ends[1 - side].detach().requires_grad_()
            query = self.decoder.relation_query(self._decoded(source), self._decoded(target))
            rel = batch.sampled.edges.rel + (self.relation_count if side else 0)
            ids = self._relation_ids(batch.rel, side)
            grads = self._relation_scoring(query.detach(), table[ids], table[None], Pairs(everything, rel))
            d_source, d_target = self._backward(query, (source, target), grads.query, self.objective.relation_weight)
            d_src.add_(d_target if side else d_source, alpha=self.objective.relation_weight)
            d_dst.add_(d_source if side else d_target, alpha=self.objective.relation_weight)
            total.add_(grads.negatives[0], alpha=self.objective.relation_weight)
            total += self._by_relation(batch.rel, [grads.positive], [side]).mul_(self.objective.relation_weight)
        return total

    def _combine(self, entity: Tensor, relation: Tensor, side: int) -> Tensor:
        query = self.decoder.query(self._decoded(entity), EdgeContext(relation), 0 if self.reciprocal else side)
        return adding_biases(query, side) if self.objective.biases else query

    def _decoded(self, rows: Tensor) -> Tensor:
        """Return what the decoder sees of rows."""
        return without_biases(rows) if self.objective.biases else rows

    def _begin_decoder(self, seed: int) -> None:
        """Set the gradients of the decoder's weights to zero, and seed what its modules draw by the batch."""
        for weight in self._weights:
            weight.grad = torch.zeros_like(weight)
        if self._draws:
            torch.manual_seed(seed ^ 1)  # other bits than those of the dropout of rows

    def _backward(
        self, query: Tensor, inputs: tuple[Tensor, Tensor], d_query: Tensor, factor: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients of a query's two inputs. Those of the decoder's weights are added to them, times ``factor``."""
        first, second, *others = torch.autograd.grad(
            query, (*inputs, *self._weights), d_query, allow_unused=True, materialize_grads=True
        )
        for weight, grad in zip(self._weights, others, strict=True):
            assert weight.grad is not None
            weight.grad.add_(grad, alpha=factor)
        return first, second

    def _relation_rows(self, rel: Tensor, side: int) -> Tensor:
        return self.relations.detach()[self._relation_ids(rel, side)]

    def _relation_ids(self, rel: Tensor, side: int) -> Tensor:
        return rel + self.relation_count if self.reciprocal and side == 1 else rel

    def _regularize(self, values: Tensor, grad: Tensor, times: int = 1) -> None:
        if self.objective.n3_weight:
            self.decoder.add_n3_gradient(values, times * self.objective.n3_weight * self.n3_share, grad)

    def _set_relation_grad(self, batch: DeviceBatch, parts: Sequence[Tensor], more: Tensor | None) -> None:
        """Set ``relations.grad`` to the sum of ``parts`` (one for each side) by relation, and of ``more``, where it is given."""
        if self.relations.numel() == 0:
            return
        grad = self._by_relation(batch.rel, parts, range(len(parts)))
        self.relations.grad = grad if more is None else grad.add_(more)

    def _by_relation(self, rel: Tensor, parts: Sequence[Tensor], sides: Sequence[int]) -> Tensor:
        """Return the parts (n, relation_dim), one for each side, summed by relation: shaped like ``relations``.

        The order of the sums is always the same.
        """
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
    """Return the mean loss of a batch as it is. Raises RunError where it is not finite."""
    if not math.isfinite(loss):
        raise RunError(
            f"the loss is {loss} in epoch {batch.epoch}, step {batch.step}, batch {batch.index}: "
            "lower the learning rates (optimizer.rows.lr, optimizer.dense.lr) and train anew, or "
            "resume from a checkpoint before it"
        )
    return loss


def make_loss(name: str, options: Mapping[str, Any]) -> Loss:
    """Return the loss of a name. Raises UserError for an option that it does not have."""
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
