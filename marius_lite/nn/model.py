"""The model of link prediction: it takes the rows of nodes and relations, and gives the loss and the gradients of the rows."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.nn.biases import adding_biases, without_biases
from marius_lite.nn.decoders import DECODERS, Draw, EdgeContext, check_dim, decoder_class
from marius_lite.nn.dropout import Dropout
from marius_lite.nn.encoders import AnyEncoder
from marius_lite.nn.gradients import gradients
from marius_lite.nn.losses import LOSSES, Loss, Softmax
from marius_lite.nn.query_products import MultipliedRows
from marius_lite.nn.scoring import Compared, SideGrads, SideScoring, joined, scores
from marius_lite.nn.seeding import seed_torch
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import LEFT_OUT, DeviceBatch, Pairs, SampledBatch, of_set

Entry = TypeVar("Entry")
Ids = TypeVar("Ids", npt.NDArray[np.int64], Tensor)

RELATION_LOSS = Softmax()


@dataclass(frozen=True)
class _Asked:
    """The queries of some ``sides``, one behind the other, the ``ids`` of their relations, and what they were ``made`` from."""

    sides: tuple[int, ...]
    ids: Tensor
    query: Tensor
    made: _MadeFrom | MultipliedRows


@dataclass(frozen=True)
class _MadeFrom:
    """The factors of a formula. ``entity``: rows of known ends. ``values``: of relations. ``relation``: these after dropout."""

    entity: Tensor
    values: Tensor
    relation: Tensor


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
        encoder: AnyEncoder | None = None,
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
        self._has_factors = DECODERS[decoder].product is not None
        self._product = None if self.objective.biases or self.objective.dropout else DECODERS[decoder].product
        self._workspace = Workspace()
        self._dropout = Dropout(self.objective.dropout, self._workspace) if self.objective.dropout else None
        self._scoring = SideScoring(self.similarity, self.loss, self._workspace, self.objective.way)
        self._relation_scoring = SideScoring(self.similarity, RELATION_LOSS, self._workspace, self.objective.way)

    def gradients(self, batch: DeviceBatch) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the mean of the loss over edges and sides, float64, and the gradients of the batch's rows.

        The mean has neither the regularizer nor the loss of relations. Side 0 is trained, and side 1 where the batch has
        negatives for it. The gradients, (rows, dim) each and contiguous, are those of the sources, of the destinations, then of
        each set of negatives. ``relations.grad`` and the gradients of the decoder's weights are replaced. The batch's tensors
        stay as they are. On a GPU nothing waits for the result.
        """
        self.seed(batch.sampled.seed)
        return self.seeded_gradients(batch)

    def seed(self, seed: int) -> None:
        """Seed what a batch draws."""
        for generator in self.generators:
            generator.manual_seed(seed)
        if self._draws:
            seed_torch(seed ^ 1, self.relations.device)  # other bits than those of the dropout of rows

    def seeded_gradients(self, batch: DeviceBatch) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Do what `gradients` does but for the seed."""
        sampled = batch.sampled
        self._begin_decoder()
        ends = self._dropped("ends", batch.ends)
        asked = [self._ask(sides, batch.rel, ends) for sides in self._asked_together(sampled.sides, ends)]
        negatives = self._dropped("neg", batch.negatives).flatten(0, 1)
        grads = self._scoring(self._compared(batch, asked, ends), negatives)
        d_ends, d_relations = self._answer(asked, grads)
        if self.objective.relation_weight:
            d_table = self._predict_relations(batch, ends, d_ends, d_relations)
            self.relations.grad = d_table.add_(self._by_relation(batch, asked, d_relations))
        elif self.relations.numel():
            self.relations.grad = self._by_relation(batch, asked, d_relations)
        self._regularize(batch.ends, self._undropped("ends", d_ends), sampled.sides)
        sets = self._undropped("neg", grads.negatives.view_as(batch.negatives)).flatten(1, 2)
        return grads.loss / (sampled.sides * len(batch.rel)), (*d_ends.chunk(2), *sets)

    @torch.no_grad()
    def query(self, entity: Tensor, rel: Tensor, side: int) -> Tensor:
        """Return queries (n, dim) for a ranking, from entities (n, dim) and relation ids (n,), without dropout."""
        training = self.decoder.training
        self.decoder.eval()
        try:
            return self._combine(entity, self.relations.detach()[self._relation_ids(rel, side)], (side,))
        finally:
            self.decoder.train(training)

    @torch.no_grad()
    def scores(self, query: Tensor, candidates: Tensor) -> Tensor:
        """Return the scores (n, m) of queries (n, dim) with candidate entities (m, dim), a new tensor."""
        return scores(self.similarity, query, candidates, self._workspace)

    def _asked_together(self, sides: int, ends: Tensor) -> list[tuple[int, ...]]:
        """Return the sides whose queries one call makes: all where the formula is that of side 0, for relations of their own."""
        return [tuple(range(sides))] if self.reciprocal or self._multiplies(ends) else [(side,) for side in range(sides)]

    def _multiplies(self, ends: Tensor) -> bool:
        """Return whether native code makes the queries."""
        return self._product is not None and not ends.is_cuda and ends.dtype == self.relations.dtype == torch.float32

    def _ask(self, sides: tuple[int, ...], rel: Tensor, ends: Tensor) -> _Asked:
        """Make the queries of these sides."""
        edges = len(rel)
        entity = ends[sides[0] * edges : (sides[-1] + 1) * edges].detach()
        ids, table = joined([self._relation_ids(rel, side) for side in sides]), self.relations.detach()
        if self._product and self._multiplies(ends):
            products = MultipliedRows(self._product, entity.contiguous(), table, ids, turns=not self.reciprocal)
            return _Asked(sides, ids, products.queries(len(sides)), products)
        values, entity = table[ids], entity.requires_grad_()
        relation = self._dropped(f"rel {sides[0]}", values).detach().requires_grad_()
        return _Asked(sides, ids, self._combine(entity, relation, sides), _MadeFrom(entity, values, relation))

    def _compared(self, batch: DeviceBatch, asked: list[_Asked], ends: Tensor) -> list[Compared]:
        """Return what is compared. Sides that have the same negatives count as one, so that these pass through memory once."""
        sampled, arrived = batch.sampled, batch.arrived
        queries = [query for each in asked for query in each.query.detach().chunk(len(each.sides))]
        answers = list(ends.chunk(2)[::-1])
        if sampled.shared:
            queries, answers = [joined([each.query.detach() for each in asked])], [torch.cat(answers[: len(queries)])]
        given = zip(queries, answers, sampled.comparisons())
        return [
            Compared(query, answer, left_out, correction, arrived and partial(_array_of_set, arrived, k))
            for k, (query, answer, (left_out, correction)) in enumerate(given)
        ]

    def _answer(self, asked: list[_Asked], grads: SideGrads) -> tuple[Tensor, Tensor]:
        """Turn the gradients of queries and positives into those of both ends, (2n, dim), and of the relations' rows, in order.

        The relations are regularized.
        """
        count, entities, relations = sum(len(each.sides) for each in asked), [], []
        if isinstance(asked[0].made, MultipliedRows):
            return self._answer_products(asked[0], asked[0].made, grads)
        for each, d_query in zip(asked, grads.query.chunk(len(asked)), strict=True):
            made = each.made
            assert isinstance(made, _MadeFrom)
            d_entity, d_relation = self._backward(each.query, (made.entity, made.relation), d_query)
            if d_relation.data_ptr() == d_entity.data_ptr():  # a sum hands the same tensor to both its terms
                d_relation = d_relation.clone()
            d_entity, d_relation = d_entity.contiguous(), d_relation.contiguous()
            self._regularize(made.values, self._undropped(f"rel {each.sides[0]}", d_relation))
            entities.append(d_entity)
            relations.append(d_relation)
        if count == 1:  # only destinations are asked for
            return torch.cat([entities[0], grads.positive]), relations[0]
        d_ends = joined(entities)
        for d_end, d_positive in zip(d_ends.chunk(2), grads.positive.chunk(2)[::-1], strict=True):
            d_end += d_positive
        return d_ends, joined(relations)

    def _answer_products(self, asked: _Asked, products: MultipliedRows, grads: SideGrads) -> tuple[Tensor, Tensor]:
        """Do what `_answer` does for products of all sides."""
        d_ends, d_relations = products.gradients(grads.query, grads.positive, len(asked.sides))
        if self.objective.n3_weight:
            self._regularize(self.relations.detach()[asked.ids], d_relations)
        return d_ends, d_relations

    def _predict_relations(self, batch: DeviceBatch, ends: Tensor, d_ends: Tensor, d_relations: Tensor) -> Tensor:
        """Train to predict the relation of each edge among all relations. Returns a gradient of the relation table.

        The ends of an edge make the query. Its relation is the positive, and all relations are the negatives. The gradients of
        the ends are added to ``d_ends``, those of the positives to ``d_relations``.
        """
        table, weight = self.relations.detach(), self.objective.relation_weight
        total = torch.zeros_like(table)
        everything, positives = np.arange(len(batch.rel)), d_relations.split(len(batch.rel))  # type: ignore[no-untyped-call]
        for side in range(len(positives) if self.reciprocal else 1):
            source, target = (end.detach().requires_grad_() for end in ends.chunk(2)[:: -1 if side else 1])
            query = self.decoder.relation_query(self.decoded(source), self.decoded(target))
            rel = self._relation_ids(batch.sampled.edges.rel, side)
            ids = self._relation_ids(batch.rel, side)
            places = torch.stack([torch.arange(len(ids), device=ids.device), ids])
            asked = Compared(query.detach(), table[ids], Pairs(everything, rel), there={LEFT_OUT: places}.__getitem__)
            grads = self._relation_scoring([asked], table[None])
            d_both = self._backward(query, (source, target), grads.query, weight)
            for d_end, d_more in zip(d_ends.chunk(2), d_both[:: -1 if side else 1], strict=True):
                d_end.add_(d_more, alpha=weight)
            total.add_(grads.negatives[0], alpha=weight)
            positives[side].add_(grads.positive, alpha=weight)
        return total

    def _combine(self, entity: Tensor, relation: Tensor, sides: Sequence[int]) -> Tensor:
        """Make the queries of ``sides``, which have equal parts of the entities, in order."""
        query = self.decoder.query(self.decoded(entity), EdgeContext(relation), 0 if self.reciprocal else sides[0])
        return adding_biases(query, sides) if self.objective.biases else query

    def decoded(self, rows: Tensor) -> Tensor:
        """Return what the decoder sees of rows (n, dim): zeros for their biases."""
        return without_biases(rows) if self.objective.biases else rows

    def repeats(self, sampled: SampledBatch) -> bool:
        """Return whether a device does the same for all batches like this one, but for the numbers that arrive with them."""
        edges = sampled.edges.size * (2 if sampled.shared else 1)
        return self.encoder is None and not self._draws and all(each.one_each(edges) for each in sampled.left_out)

    @property
    def generators(self) -> list[torch.Generator]:
        """What `seed` seeds, where `repeats` is true."""
        return [self._dropout.generator(self.relations.device)] if self._dropout else []

    def _dropped(self, name: str, values: Tensor) -> Tensor:
        return self._dropout(name, values) if self._dropout else values

    def _undropped(self, name: str, grad: Tensor) -> Tensor:
        """Turn the gradient of what `_dropped` returned into that of what it was given, in place."""
        return self._dropout.backward_(name, grad) if self._dropout else grad

    def _begin_decoder(self) -> None:
        """Set the gradients of the decoder's weights to zero."""
        for weight in self._weights:
            weight.grad = torch.zeros_like(weight)

    def _backward(
        self, query: Tensor, inputs: tuple[Tensor, Tensor], d_query: Tensor, factor: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients of a query's two inputs. Those of the decoder's weights are added to them, times ``factor``."""
        wanted = (*inputs, *self._weights)
        first, second, *others = gradients([query], [d_query], wanted, allow_unused=True, materialize_grads=True)
        for weight, grad in zip(self._weights, others, strict=True):
            assert weight.grad is not None
            weight.grad.add_(grad, alpha=factor)
        return first, second

    def _relation_ids(self, rel: Ids, side: int) -> Ids:
        """Return the rows of the relation table in one side's queries, (n,), from the relations (n,) of edges."""
        return rel + self.relation_count if self.reciprocal and side == 1 else rel

    def _regularize(self, values: Tensor, grad: Tensor, times: int = 1) -> None:
        if self.objective.n3_weight:
            self.decoder.add_n3_gradient(values, times * self.objective.n3_weight * self.n3_share, grad)

    def relations_asked(self, rel: npt.NDArray[np.int64], sides: int) -> npt.NDArray[np.int64]:
        """Return the rows of the relation table in a batch's queries, (sides * n,), from the relations (n,) of its edges."""
        return np.concatenate([self._relation_ids(rel, side) for side in range(sides)])

    def largest_factor(self) -> float:
        """Return the largest number of a relation by which the decoder multiplies; infinity where it does something else."""
        return float(self.relations.detach().abs().max()) if self._has_factors else math.inf

    def _by_relation(self, batch: DeviceBatch, asked: list[_Asked], rows: Tensor) -> Tensor:
        """Return the gradients (sides * n, relation_dim) of queries' relations, summed by relation: shaped like ``relations``.

        The order of the sums is always the same.
        """
        if batch.by_relation:
            return batch.by_relation(rows)
        return torch.zeros_like(self.relations).index_add_(0, joined([each.ids for each in asked]), rows)


def _array_of_set(arrived: Callable[[str], Tensor], number: int, name: str) -> Tensor:
    return arrived(of_set(name, number))


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
