"""Graphs of PyTorch Geometric in memory, taken apart into what `make_dataset` takes: edges, features, labels, splits, types.

A ``HeteroData`` is one graph, as its ``to_homogeneous()`` numbers it: the nodes of its first type come first, then those of the
next. Its types of nodes become types, its types of edges become relations, ``source__relation__destination``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.preprocess.inputs.frames import Arrays, Frame
from marius_lite.preprocess.readers.tables import NUM_NODES

EDGES_AT_ONCE = 1 << 20
MASKS = {"train_nodes": "train_mask", "valid_nodes": "val_mask", "test_nodes": "test_mask"}
Array = npt.NDArray[Any]
EdgeType = tuple[str, str, str]


def is_graph(value: Any) -> bool:
    """Whether a value is a ``Data`` or ``HeteroData``. PyTorch Geometric is not imported for the question."""
    return hasattr(value, "edge_stores") and hasattr(value, "node_stores")


def with_graphs_opened(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with what a graph among them holds. What is given beside the graph goes before what it holds."""
    opened = dict(given)
    if is_graph(given["edges"]):
        graph = _Graph(given["edges"])
        opened = {**graph.about_nodes(), **given, "edges": [graph.edges(weight=given.get("edge_weight"))]}
    for split in ("valid", "test"):
        if is_graph(given.get(split)):
            opened[split] = [_Graph(given[split]).edges(asked=True, weight=given.get("edge_weight"))]
    return opened


@dataclass(frozen=True)
class _Edges:
    """Edges of one type. ``starts``: the numbers of the first nodes of its ends' types. ``relation``: of all, or of each."""

    ends: Array
    starts: tuple[int, int]
    relation: str | Array | None
    weights: Mapping[str, Array]

    def batch(self, span: slice) -> pa.RecordBatch:
        """Return some of them as rows."""
        src, dst = (pa.array(end[span].astype(np.int64) + start) for end, start in zip(self.ends, self.starts, strict=True))
        columns = {"src": src}
        if isinstance(self.relation, str):
            columns["rel"] = pa.repeat(self.relation, len(src))
        elif self.relation is not None:
            columns["rel"] = pa.array(self.relation[span].astype(np.int64))
        columns |= {"dst": dst} | {name: pa.array(values[span].astype(np.float32)) for name, values in self.weights.items()}
        return pa.record_batch(columns)


class _Graph:
    """The stores of a graph. ``starts``: the number of the first node of each type."""

    def __init__(self, data: Any):
        self._nodes, self._edges = list(data.node_stores), list(data.edge_stores)
        self._typed = hasattr(data, "edge_types")
        self._node_types = data.node_types if self._typed else [""]
        self._edge_types = data.edge_types if self._typed else [("", "", "")]
        with warnings.catch_warnings():  # where a graph does not say how many nodes it has, it warns, and takes the largest id
            warnings.simplefilter("ignore")
            self._counts = [int(store.num_nodes or 0) for store in self._nodes]
        self._starts = dict(zip(self._node_types, np.cumsum([0, *self._counts[:-1]]).tolist(), strict=True))

    def edges(self, asked: bool = False, weight: str | None = None) -> Frame:
        """Return the edges; ``asked``: those that a split of links asks for (``edge_label_index``), where there are any.

        ``weight``: the attribute that holds a number for each edge."""
        stored = zip(self._edge_types, self._edges, strict=True)
        parts = [part for type, store in stored if (part := self._part(type, store, asked, weight)) is not None]
        if not parts:
            raise UserError("edges: a graph without edge_index: give edges as int64 tensors of shape (2, E)")
        schema = pa.schema(parts[0].batch(slice(0, 0)).schema, {NUM_NODES: str(sum(self._counts)).encode()})

        def batches() -> Iterator[pa.RecordBatch]:
            for part in parts:
                for first in range(0, part.ends.shape[1], EDGES_AT_ONCE):
                    yield part.batch(slice(first, first + EDGES_AT_ONCE)).cast(schema)

        return Frame(pa.RecordBatchReader.from_batches(schema, batches()))

    def about_nodes(self) -> dict[str, Any]:
        """Return features, labels, splits and types, as far as there are any."""
        found: dict[str, Any] = {}
        features = [_array(store.get("x")) for store in self._nodes]
        if all(each is not None for each in features) and len({each.shape[1:] for each in features if each is not None}) == 1:
            found["features"] = Arrays([each for each in features if each is not None])
        if labels := self._labels():
            found["labels"] = Arrays(labels)
            for option, name in MASKS.items():
                if any(store.get(name) is not None for store in self._nodes):
                    found[option] = Arrays(self._masks(name))
        if self._typed:
            found["node_types"] = Frame(_types(self._node_types, self._counts))
        return found

    def _part(self, type: EdgeType, store: Any, asked: bool, weight: str | None) -> _Edges | None:
        """Return the edges of one type; None where a store has none."""
        asked = asked and store.get("edge_label_index") is not None
        ends = _array(store.get("edge_label_index" if asked else "edge_index"))
        if ends is None:
            return None
        if ends.ndim != 2 or len(ends) != 2 or ends.dtype.kind not in "iu":
            raise UserError(f"edges: an array of {ends.dtype}, shape {ends.shape}: give int64 tensors of shape (2, E)")
        values = None if weight is None else _array(store.get(weight))
        if weight is not None and values is None:
            raise UserError(f"--edge-weight {weight}: edges of the graph have no such attribute")
        if asked and (positive := _array(store.get("edge_label"))) is not None:
            ends = ends[:, positive > 0]
        relation = "__".join(type) if self._typed else None if asked else _array(store.get("edge_type"))
        starts = (self._starts[type[0]], self._starts[type[2]])
        return _Edges(ends, starts, relation, {} if values is None or weight is None else {weight: values.reshape(-1)})

    def _labels(self) -> list[Array]:
        """Return the labels of all nodes, -1 for those of types without labels; nothing where no type has a label for each."""
        of_nodes = [(_array(store.get("y")), count) for store, count in zip(self._nodes, self._counts, strict=True)]
        given = [y for y, count in of_nodes if y is not None and len(y) == count]
        if not given:
            return []
        if len(given) > 1 and len({y.shape[1:] for y in given}) > 1:
            raise UserError("labels: y has several shapes: give labels= for the nodes that are to be classified")
        return [y if y is not None and len(y) == count else np.full((count, *given[0].shape[1:]), -1) for y, count in of_nodes]

    def _masks(self, name: str) -> list[Array]:
        masks = [(_array(store.get(name)), count) for store, count in zip(self._nodes, self._counts, strict=True)]
        shape = next(mask.shape[1:] for mask, _ in masks if mask is not None)
        return [np.zeros((count, *shape), bool) if mask is None else mask for mask, count in masks]


def _array(tensor: Any) -> Array | None:
    """Return a tensor as an array that shares its memory."""
    return None if tensor is None else np.asarray(tensor)


def _types(names: Sequence[str], counts: Sequence[int]) -> pa.RecordBatchReader:
    """Return (id, type) of all nodes as a stream."""
    schema = pa.schema([("id", pa.int64()), ("type", pa.string())])

    def batches() -> Iterator[pa.RecordBatch]:
        start = 0
        for name, count in zip(names, counts, strict=True):
            for first in range(start, start + count, EDGES_AT_ONCE):
                ids = np.arange(first, min(first + EDGES_AT_ONCE, start + count))
                yield pa.record_batch([pa.array(ids), pa.repeat(name, len(ids))], schema)
            start += count

    return pa.RecordBatchReader.from_batches(schema, batches())
