"""Turn the rows of a batch into the vectors that a decoder or a classifier takes, and their gradients into those of the rows.

places of a batch --prepare--> rows of each table, arrays    ids only; ahead, in a thread
what has arrived  --vectors--> a vector of each place
gradients         --backward-> gradients of the learned rows; those of an encoder's weights
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from marius_lite._native import inverse_of, sort_rows
from marius_lite.device.cache import HOT_SAMPLE
from marius_lite.encode.layer_graph import graph_arrays, layer_graph
from marius_lite.encode.neighbourhoods import Neighbourhoods
from marius_lite.graph.known_classes import KnownClasses
from marius_lite.nn.dropout import dropout
from marius_lite.nn.edge_dropout import without_edges
from marius_lite.nn.encoders import AnyEncoder
from marius_lite.nn.gradients import gradients
from marius_lite.nn.inputs import KnownColumns, Normalize
from marius_lite.nn.seeding import seed_torch
from marius_lite.rows.batch import Arrays, Arrived
from marius_lite.rows.resident import ResidentRows
from marius_lite.sampling.neighbours import NeighbourSample
from marius_lite.sampling.padding import padded
from marius_lite.sampling.passes import Request
from marius_lite.types import Ids, Rows

KNOWN = "known classes"
"""The name of the array that says which class each node of a batch is known to be of."""


@dataclass(frozen=True, slots=True)
class PreparedPlaces:
    """What the places of a batch need: ``rows`` and ``arrays`` as in `PreparedBatch`, and the ``sample`` of neighbourhoods.

    ``seeds``: how many nodes are encoded. The sample may have more, see `sampling.padding`.
    """

    rows: Sequence[Rows]
    arrays: Arrays
    sample: NeighbourSample | None = None
    seeds: int = 0


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a batch's places. ``values``: (m, width), detached from torch's autograd graph.

    ``backward``: takes their gradients, in parts end to end. Returns those of the learned rows at the prepared places, likewise;
    none where no rows are learned.
    """

    values: Tensor
    backward: Callable[[Sequence[Tensor]], Sequence[Tensor]]


class Representation(Protocol):
    """How rows become vectors. ``seed``: the seed of what is drawn: neighbours, then dropout."""

    rows: ResidentRows

    def enter(self, following: Sequence[int]) -> None:
        """Make resident what the rows' partitions need, and begin to load what the ``following`` ones need."""

    def prepare(self, places: Rows, exclude: tuple[Rows, Rows], seed: int) -> PreparedPlaces:
        """Return what ``places`` need: (m,) rows of the main buffer, where a node may stand several times.

        No message passes along an edge between two rows of a pair in ``exclude``, in either direction.
        """

    def vectors(self, prepared: PreparedPlaces, arrived: Arrived, seed: int) -> Vectors:
        """Return a vector of each place."""

    def touched(self, nodes: Ids) -> Ids:
        """Return the nodes whose rows batches over ``nodes`` take, each about as often as they take it."""

    def counters(self) -> Mapping[str, float]:
        """Return how much was sampled so far."""

    def close(self) -> None: ...


class RowsThemselves:
    """The representation without an encoder: the vector of a place is its row."""

    def __init__(self, rows: ResidentRows):
        self.rows = rows

    def enter(self, following: Sequence[int]) -> None:
        pass

    def prepare(self, places: Rows, exclude: tuple[Rows, Rows], seed: int) -> PreparedPlaces:
        return PreparedPlaces([places], {})

    def vectors(self, prepared: PreparedPlaces, arrived: Arrived, seed: int) -> Vectors:
        return Vectors(arrived.values(), lambda grads: grads)

    def touched(self, nodes: Ids) -> Ids:
        return nodes

    def counters(self) -> Mapping[str, float]:
        return {}

    def close(self) -> None:
        pass


class Encoded:
    """The representation by an encoder: the vector of a node follows from the rows of its sampled neighbourhood.

    Each node is encoded once, wherever it stands. ``normalize``: see `nn.inputs`. ``dropout``: the share of the
    input's numbers set to zero. ``pads``: whether samples of nodes get sizes that recur, so that a device can repeat the work.
    ``edge_dropout``: the share of sampled edges that each training of a batch leaves out. ``known``: the classes of training
    nodes, where they are seen: then ``normalize`` is `KnownColumns`. Those of a batch's own nodes are not.
    """

    def __init__(
        self,
        rows: ResidentRows,
        encoder: AnyEncoder,
        neighbourhoods: Neighbourhoods,
        normalize: Normalize,
        dropout: float = 0.0,
        pads: bool = False,
        edge_dropout: float = 0.0,
        known: KnownClasses | None = None,
    ):
        self.rows, self.pads, self._edge_dropout, self._known = rows, pads, edge_dropout, known
        self._encoder, self._neighbourhoods, self._normalize, self._dropout = encoder, neighbourhoods, normalize, dropout
        self._weights = [weight for weight in encoder.parameters() if weight.requires_grad]
        self._device = self._weights[0].device if self._weights else torch.device("cpu")

    def enter(self, following: Sequence[int]) -> None:
        self._neighbourhoods.enter(self.rows.base_rows(), following)

    def prepare(self, places: Rows, exclude: tuple[Rows, Rows], seed: int) -> PreparedPlaces:
        # By node id, not by row: which slot a partition came into must not change the order of any sum.
        seeds, order, starts = sort_rows(self.rows.node_ids(places))
        own = np.stack([self.rows.node_ids(ends) for ends in exclude], 1)
        prepared = self._prepared(self._neighbourhoods.sample(seeds, seed, own, both=True), len(seeds))
        ids = {"inverse": inverse_of(order, starts), "order": order, "starts": starts}
        return replace(prepared, arrays={**prepared.arrays, **ids})

    def foresee(self, requests: Sequence[Request]) -> None:
        """Take note of what `prepare_nodes` is asked for next. What it needs may be drawn together."""
        self._neighbourhoods.foresee(requests)

    def prepare_nodes(self, nodes: Ids, seed: int) -> PreparedPlaces:
        """Return what distinct ``nodes`` need. Their vectors come in their order (`vectors_of_nodes`)."""
        sample = self._neighbourhoods.sample(nodes, seed)
        return self._prepared(padded(sample) if self.pads else sample, len(nodes))

    def vectors(self, prepared: PreparedPlaces, arrived: Arrived, seed: int) -> Vectors:
        self.seed(seed)
        encoded = self.vectors_of_nodes(prepared, arrived)

        def backward(grads: Sequence[Tensor]) -> Sequence[Tensor]:
            summed = torch.empty_like(encoded.values)
            arrived.sum_segments(grads, "order", "starts", summed)
            return encoded.backward([summed])

        return Vectors(encoded.values.index_select(0, arrived.tensor("inverse")), backward)

    def seed(self, seed: int) -> None:
        """Seed what `vectors_of_nodes` draws."""
        seed_torch(seed, self._device)

    @property
    def generators(self) -> list[torch.Generator]:
        """What `seed` seeds on a GPU."""
        return [torch.cuda.default_generators[self._device.index or 0]] if self._device.type == "cuda" else []

    def vectors_of_nodes(self, prepared: PreparedPlaces, arrived: Arrived) -> Vectors:
        """Return the vectors of the prepared nodes, each once. ``backward`` takes one part. `seed` comes before."""
        assert prepared.sample is not None
        self.count(prepared)
        x = arrived.values().detach().requires_grad_(self.rows.learned is not None)
        normalize = self._normalize
        inputs = normalize.beside(x, arrived.tensor(KNOWN)) if isinstance(normalize, KnownColumns) else normalize(x)
        if self._dropout:
            inputs = dropout(inputs, self._dropout)
        graph = layer_graph(prepared.sample, arrived, prepared.arrays)
        if self._edge_dropout:
            graph = without_edges(graph, self._edge_dropout)
        encoded = self._encoder(inputs, graph)[: prepared.seeds]

        def backward(grads: Sequence[Tensor]) -> Sequence[Tensor]:
            asked = [*self._weights, x] if x.requires_grad else self._weights
            found = gradients([encoded], grads, asked, allow_unused=True)
            for weight, grad in zip(self._weights, found):
                weight.grad = grad
            return self._of_learned(found[-1] if x.requires_grad else None)

        return Vectors(encoded.detach(), backward)

    def count(self, prepared: PreparedPlaces, batches: int = 1) -> None:
        """Count what was sampled for a batch that is trained; -1: take that back."""
        assert prepared.sample is not None
        self._neighbourhoods.count(prepared.sample, batches)

    def touched(self, nodes: Ids) -> Ids:
        return np.concatenate([nodes, self._neighbourhoods.some_sources(HOT_SAMPLE)])

    def counters(self) -> Mapping[str, float]:
        return self._neighbourhoods.counters()

    def close(self) -> None:
        self._neighbourhoods.close()

    def _prepared(self, sample: NeighbourSample, seeds: int) -> PreparedPlaces:
        rows, arrays = self.rows.each_table(sample.rows, sample.nodes), graph_arrays(sample, self._neighbourhoods.lists)
        if self._known is not None:
            codes = self._known.codes[sample.nodes].astype(np.float32)
            codes[:seeds] = 0  # what they are asked for
            arrays = {**arrays, KNOWN: codes}
        return PreparedPlaces(rows, arrays, sample, seeds)

    def _of_learned(self, d_x: Tensor | None) -> list[Tensor]:
        """Return the learned columns of the input's gradient (n, width); none where no rows are learned."""
        return [] if d_x is None else [d_x[:, d_x.shape[1] - self.rows.buffers.dim :].contiguous()]
