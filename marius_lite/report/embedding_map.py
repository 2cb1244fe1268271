"""Draw a map of a sample of the embeddings: the two main components, coloured by type, label or degree."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.node_columns import Labels
from marius_lite.graph.popularity import degrees
from marius_lite.report.charts import SERIES, VARIABLES, chart
from marius_lite.report.page import paragraph, text
from marius_lite.report.subject import Subject
from marius_lite.seeds import generator_for
from marius_lite.types import Ids

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 1500
"""Nodes of the sample."""
GROUPS = len(SERIES) - 1
"""Types or labels that have a colour of their own; the last colour is for all others."""
NUMBERS = 64 << 20
"""Bytes of the sample, at most."""


class Colours(NamedTuple):
    """The group of each node (n,), the groups' names, and by what they are made."""

    group: Ids
    names: Sequence[str]
    by: str


def embedding_map(run: Subject, compute: bool) -> str:
    """Return the map of the best checkpoint, or the latest. ``compute``: also where an encoder has to make all vectors first.

    All rows are read once, a partition at a time.
    """
    if run.dataset is None:
        return paragraph("No map: the dataset is not there.")
    if not compute and run.config.encodes:
        return paragraph("An encoder's vectors are not stored: `marius-lite report --evaluate` makes them, and this map.")
    try:
        nodes, vectors = _sample(run, run.dataset)
    except UserError as error:
        return paragraph(f"No map: {error}")
    if not vectors.shape[0]:
        return ""
    places, shares = _components(vectors)
    return _drawn(places, shares, _colours(run.dataset, nodes), run.dataset.manifest.nodes, run.config.task)


def _sample(run: Subject, dataset: Dataset) -> tuple[Ids, npt.NDArray[np.float64]]:
    """Return ids of nodes, ascending, and what is exported of them: vectors, or for classes log-probabilities."""
    from marius_lite.tasks import task_of
    from marius_lite.tasks.checkpoint import open_checkpoint

    with closing(open_checkpoint(run.folder.path, None, dataset.path)) as found:
        task = task_of(found.config)
        most = min(MOST, max(2, NUMBERS // (4 * task.exported_width(found))))
        count = dataset.manifest.nodes
        rng = generator_for(found.config.training.seed, "report/map")
        nodes = np.sort(rng.choice(count, most, replace=False)) if count > most else np.arange(count)
        parts, start = [], 0
        with task.exported(found) as exported:
            for ids, columns in exported.tables[0][1]:
                low, high = np.searchsorted(nodes, [start, start + len(ids)])
                parts.append(next(iter(columns.values()))[nodes[low:high] - start].astype(np.float64))
                start += len(ids)
    values = np.concatenate(parts)
    return nodes, np.log(values.clip(1e-9)) if exported.probabilities else values


def _components(vectors: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the two main components (n, 2), and their shares of the variance."""
    centred = vectors - vectors.mean(0)
    if centred.shape[1] < 2:
        centred = np.pad(centred, ((0, 0), (0, 2 - centred.shape[1])))
    values, directions = np.linalg.eigh(centred.T @ centred)
    main = directions[:, [-1, -2]]
    main = main * np.sign(main[np.abs(main).argmax(0), [0, 1]])  # the sign is free: the same run gives the same map
    return centred @ main, values[[-1, -2]] / max(values.sum(), 1e-12)


def _colours(dataset: Dataset, nodes: Ids) -> Colours:
    """Return colours by type, else by label, else by degree."""
    if dataset.types is not None:
        spans = [dataset.partitioning.range(k) for k in np.unique(nodes // dataset.partitioning.rows).tolist()]
        codes = [dataset.types.codes(s.start, s.stop)[nodes[(nodes >= s.start) & (nodes < s.stop)] - s.start] for s in spans]
        return _grouped(np.concatenate(codes).astype(np.int64), list(dataset.manifest.node_types or ()), "type")
    if isinstance(dataset.labels, Labels):
        rows = dataset.partitioning.rows
        found = [dataset.labels.read(k)[nodes[nodes // rows == k] - k * rows] for k in np.unique(nodes // rows).tolist()]
        return _grouped(np.concatenate(found), dataset.class_names, "label")
    counts = degrees(dataset.edges("train"), nodes)
    limits = np.unique(np.quantile(counts, (0.2, 0.4, 0.6, 0.8)).astype(np.int64))
    _, group = np.unique(np.searchsorted(limits, counts, side="right"), return_inverse=True)
    ends = [(few.min(), few.max()) for few in (counts[group == at] for at in range(group.max() + 1))]
    names = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in ends]
    return Colours(group, names, "degree in training, up to five groups, each degree in one of them")


def _grouped(codes: Ids, names: Sequence[Any], by: str) -> Colours:
    """Give the most frequent groups a colour each, and the others one together. Codes below 0 are none."""
    present, counts = np.unique(codes[codes >= 0], return_counts=True)
    most = present[np.argsort(-counts, kind="stable")][:GROUPS].tolist()
    group = np.full(len(codes), len(most))
    for place, code in enumerate(most):
        group[codes == code] = place
    others = ["others, or none"] if (group == len(most)).any() else []
    return Colours(group, [*(str(names[code]) for code in most), *others], by)


def _drawn(places: npt.NDArray[np.float64], shares: Any, colours: Colours, nodes: int, task: str) -> str:
    def draw(axes: Axes) -> None:
        for group in range(len(colours.names)):
            x, y = places[colours.group == group].T
            axes.plot(x, y, ".", color=SERIES[group % len(SERIES)], alpha=0.6, markersize=4, markeredgewidth=0)
        axes.set(xlabel=f"first component, {shares[0]:.0%} of the variance", ylabel=f"second, {shares[1]:.0%}")

    key = "".join(
        f'<span><i style="background: var(--{VARIABLES[SERIES[at % len(SERIES)]]})"></i>{text(name)}</span>'
        for at, name in enumerate(colours.names)
    )
    what = "log-probabilities of classes" if task == "node_classification" else "vectors"
    title = f"{len(places):,} of {nodes:,} nodes: two main components of their {what}, by {colours.by}"
    drawn = chart(draw, title, (8.0, 5.0)).replace("<figure>", '<figure style="max-width: 52rem">')
    return f'<p class="key">{key}</p>{drawn}'
