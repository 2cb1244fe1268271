"""Questions with the answers that were found: as dicts, or as the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.evaluate.answers import Answers
from marius_lite.evaluate.platt import PlattScaling
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.ids import RAW_TYPES
from marius_lite.graph.raw_lookup import raw_array
from marius_lite.predict.questions import Questions


@dataclass(frozen=True)
class Answered:
    """A block of n questions. ``answers``: at most k of each. ``scaling``: their probability by their score, if asked for.

    ``untrained``: for each question which of "src", "rel" and "dst" no training edge has.
    """

    dataset: Dataset
    questions: Questions
    answers: Answers
    scaling: PlattScaling | None
    untrained: list[list[str]]

    @cached_property
    def _there(self) -> npt.NDArray[np.bool_]:
        """Which answers there are, (n, k); the first ones of each question."""
        return self.answers.nodes >= 0

    @cached_property
    def _raw(self) -> pa.Array:
        """The raw ids of all answers, those of a question after those of the question before."""
        nodes, place = np.unique(self.answers.nodes[self._there], return_inverse=True)
        return raw_array(self.dataset, nodes).take(pa.array(place))

    @property
    def _figures(self) -> dict[str, npt.NDArray[Any]]:
        """The numbers of all answers by their names."""
        scores = self.answers.scores[self._there]
        return {"score": scores} | ({} if self.scaling is None else {"probability": self.scaling.probability(scores)})

    def dicts(self) -> Iterator[dict[str, Any]]:
        """Yield a dict for each question, as `predict_links` gives them."""
        figures = self._figures
        columns = zip(self._raw.to_pylist(), *(values.tolist() for values in figures.values()))
        every = (dict(zip(("id", *figures), row)) for row in columns)
        for (src, rel, dst), count, untrained in zip(self.questions.raw, self._there.sum(1).tolist(), self.untrained):
            answers = [next(every) for _ in range(count)]
            yield {"src": src, "rel": rel, "dst": dst, "answers": answers, "untrained": untrained}

    def table(self, first: int) -> pa.Table:
        """Return a row for each answer; ``first`` is the number of the first question.

        Columns: ``query``, its number; ``src``, ``rel`` and ``dst``, null for what is asked; ``rank`` from 1; ``answer``;
        ``score``; ``probability``, if asked for; ``untrained``, the parts of the query that no training edge has, joined by
        commas.
        """
        node, relation = (RAW_TYPES[kind] for kind in (self.dataset.manifest.ids, self.dataset.manifest.relation_ids))
        query, rank = np.nonzero(self._there)
        asked = (pa.array(part, kind) for part, kind in zip(zip(*self.questions.raw), (node, relation, node)))
        untrained = pa.array([",".join(parts) for parts in self.untrained], pa.string())
        columns = {
            "query": pa.array(query + first),
            **{name: part.take(pa.array(query)) for name, part in zip(("src", "rel", "dst"), asked)},
            "rank": pa.array(rank + 1, pa.int32()),
            "answer": self._raw,
            **{name: pa.array(values) for name, values in self._figures.items()},
            "untrained": untrained.take(pa.array(query)),
        }
        return pa.table(columns)


def tables(answered: Iterable[Answered]) -> Iterator[pa.Table]:
    """Yield the table of each block; questions are numbered from 1."""
    first = 1
    for block in answered:
        yield block.table(first)
        first += len(block.untrained)
