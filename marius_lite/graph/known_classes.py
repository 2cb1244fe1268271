"""The classes of training nodes, as others see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.config.schema import Config
from marius_lite.config.sizes import known_dtype
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.node_columns import Labels

Codes = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class KnownClasses:
    """The class of each training node, counted from 1, and 0 for all other nodes: ``codes`` (nodes,), of the smallest type."""

    codes: Codes
    classes: int

    @property
    def shares(self) -> npt.NDArray[np.float32]:
        """Of all nodes, those that are known to be of each class, (classes,)."""
        counts = np.bincount(self.codes, minlength=self.classes + 1)[1:]
        return (counts / len(self.codes)).astype(np.float32)


def known_classes(dataset: Dataset, config: Config) -> KnownClasses | None:
    """Return what `trained_classes` does where a run sees known classes; None where it does not."""
    if not config.model.known_classes:
        return None
    labels = dataset.required_labels()
    assert isinstance(labels, Labels), "`config.node_planning` has refused others"
    return trained_classes(dataset, labels)


def trained_classes(dataset: Dataset, labels: Labels) -> KnownClasses:
    """Read the classes of training nodes. Raises UserError for a damaged dataset, RunError for a file that cannot be read."""
    assert dataset.node_splits is not None
    p, trained = dataset.partitioning, dataset.node_splits.nodes("train")
    codes: Codes = np.zeros(p.nodes, known_dtype(labels.classes))
    for k in np.unique(trained // p.rows).tolist():
        span = p.range(k)
        here = trained[slice(*np.searchsorted(trained, [span.start, span.stop]))]
        codes[here] = labels.reader(k)(here - span.start) + 1
    return KnownClasses(codes, labels.classes)
