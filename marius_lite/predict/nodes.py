"""Give the classes of nodes, a block of nodes at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.graph.raw_lookup import as_named, looked_up
from marius_lite.predict.query_file import query_rows, told_name
from marius_lite.types import Ids

if TYPE_CHECKING:
    from marius_lite.tasks.class_probabilities import Classified

LOOKED_UP = 1 << 16
"""Raw ids that are looked up at a time."""


class NodeClasses(NamedTuple):
    """A block of classified nodes. ``names``: of the classes. ``column``: class or classes. ``answers``: a name, or several."""

    names: list[Any]
    column: str
    nodes: Classified
    answers: list[Any]

    def dicts(self) -> Iterator[dict[str, Any]]:
        """Yield a dict for each node, as `predict_nodes` does."""
        for raw, split, answer, chances in zip(self.nodes.raw.to_pylist(), self._splits, self.answers, self.nodes.probabilities):
            shares = dict(zip(self.names, chances.tolist()))
            yield {"id": raw, "split": split, self.column: answer, "probabilities": shares}

    def table(self) -> pa.Table:
        """Return a row for each node: ``id``, ``split``, ``class`` or ``classes``, and ``probability_NAME`` of each class."""
        chances, name = zip(self.names, self.nodes.probabilities.T), pa.array(self.names).type
        answers = pa.array(self.answers, name if self.column == "class" else pa.list_(name))
        columns = {"id": self.nodes.raw, "split": self._splits, self.column: answers}
        return pa.table(columns | {f"probability_{name}": pa.array(column) for name, column in chances})

    @property
    def _splits(self) -> list[str]:
        names = ("none", *NODE_SPLITS)
        return [names[code] for code in self.nodes.split.tolist()]


def predict_nodes(
    run: Path | str,
    nodes: Path | str | Iterable[Any] | None = None,
    checkpoint: str | None = None,
    dataset: Path | str | None = None,
) -> Iterator[dict[str, Any]]:
    """Classify nodes with a checkpoint. ``nodes``: a file with one raw id a line (or a row of Parquet), or a list of raw ids;
    None: all nodes.

    Yields a dict for each node, in order of node id: {"id", "split", "class", "probabilities": {class: probability}}. Classes
    have their names, where the dataset has names. Where nodes may have several classes, "classes" instead of "class" lists those
    that are probable enough (`evaluation.calibrated`). ``dataset``: where the run's dataset is, if it was moved. Raises UserError
    for a run of another task, and for ids that the dataset lacks.
    """
    for block in classify_nodes(run, nodes, checkpoint, dataset):
        yield from block.dicts()


def classify_nodes(
    run: Path | str,
    nodes: Path | str | Iterable[Any] | None = None,
    checkpoint: str | None = None,
    dataset: Path | str | None = None,
) -> Iterator[NodeClasses]:
    """Yield what `predict_nodes` does in blocks."""
    from marius_lite.tasks.checkpoint import open_checkpoint
    from marius_lite.tasks.class_probabilities import class_probabilities, require_classes
    from marius_lite.tasks.labelling import labelling

    with closing(open_checkpoint(Path(run), checkpoint, Path(dataset) if dataset is not None else None)) as found:
        require_classes(found)
        labels = found.dataset.required_labels()
        kind = labelling(found.dataset)
        names: list[Any] = [*(found.dataset.manifest.class_names or range(labels.classes))]
        wanted = None if nodes is None else read_nodes(Path(nodes) if isinstance(nodes, str) else nodes, found.dataset)
        with class_probabilities(found, wanted) as classified:
            for each in classified:
                yield NodeClasses(names, kind.column, each, [kind.named(answer, names) for answer in each.answers.tolist()])


def read_nodes(nodes: Path | Iterable[Any], dataset: Dataset) -> Ids:
    """Read raw ids from a file, one in each line or row, or from a list. Returns their node ids, ascending, each once.

    Beside these, some ids are in memory at a time. Raises UserError, which names the line or the row, for one that the dataset
    lacks.
    """
    name = told_name(nodes) if isinstance(nodes, Path) else "nodes"
    rows = query_rows(nodes, ["id"]) if isinstance(nodes, Path) else ((f"row {at}", [str(raw)]) for at, raw in enumerate(nodes))
    found = np.empty(0, np.int64)
    while block := list(islice(rows, LOOKED_UP)):
        raw = as_named(dataset.manifest.ids, [value for _, (value,) in block], dataset.lookup_nodes)
        found = np.union1d(found, looked_up(name, block, dataset.manifest.ids, "node", raw, dataset.lookup_nodes))
    return found
