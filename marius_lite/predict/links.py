"""Answer questions like (source, relation, ?), a block of them at a time, and of each block one partition at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.evaluate.answers import BLOCK, Asked, LeftOut, answer, check_topk
from marius_lite.evaluate.calibration import calibrate
from marius_lite.evaluate.pages import Pages
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edge_source import EdgeSource
from marius_lite.graph.self_loops import self_loops_are_rare
from marius_lite.graph.trained import trained_nodes, trained_relations
from marius_lite.nn.allocator import give_back
from marius_lite.predict.answered import Answered
from marius_lite.predict.questions import Questions, Triple, read_questions

QUESTIONS, ANSWERS = 2 * BLOCK, 1 << 20
"""Questions in memory at a time, or as many as have so many answers; at least one."""


def predict_links(
    run: Path | str,
    queries: Path | str | Iterable[Triple],
    topk: int = 10,
    known: bool = False,
    checkpoint: str | None = None,
    exclude_self: bool | None = None,
    dataset: Path | str | None = None,
    probability: bool = False,
) -> list[dict[str, Any]]:
    """Answer every query with a checkpoint's model.

    ``queries``: a file with one query a line, or a Parquet file with one a row, or rows like ("a", "likes", None) of a list or an
    array. Returns a dict for each: {"src", "rel", "dst", "answers": [{"id", "score"}, ...], "untrained": [...]}, with None for
    what was asked. Raw ids, those of the query and those of its answers, are integers where the dataset's are integers, else
    strings; so are relations, by theirs. ``untrained`` names the parts "src", "rel" or "dst" that no training edge has: the
    model learned nothing about them. It knows at most the features of such a node.

    ``topk``: how many answers. ``known``: whether answers that are edges of the dataset are given too. ``exclude_self``: whether
    the node that the query is about is left out; None: where fewer than one training edge in 1,000 is a self-loop. ``dataset``:
    where the run's dataset is, if it was moved. ``probability``: whether answers have a "probability" too: that of a true edge
    against a random one, as `evaluate.calibration` says. Raises UserError for queries with mistakes, and for probabilities where
    the dataset has no validation split.
    """
    return list(stream_links(run, queries, topk, known, checkpoint, exclude_self, dataset, probability))


def stream_links(
    run: Path | str,
    queries: Path | str | Iterable[Triple],
    topk: int = 10,
    known: bool = False,
    checkpoint: str | None = None,
    exclude_self: bool | None = None,
    dataset: Path | str | None = None,
    probability: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield what `predict_links` lists, in the order of the queries, for any number of them.

    Some thousands are in memory at a time. So a query with a mistake is an error only when its turn comes.
    """
    for block in answer_links(run, queries, topk, known, checkpoint, exclude_self, dataset, probability):
        yield from block.dicts()


def answer_links(
    run: Path | str,
    queries: Path | str | Iterable[Triple],
    topk: int = 10,
    known: bool = False,
    checkpoint: str | None = None,
    exclude_self: bool | None = None,
    dataset: Path | str | None = None,
    probability: bool = False,
) -> Iterator[Answered]:
    """Yield what `stream_links` does in blocks: at least one, none empty."""
    from marius_lite.tasks.opened_links import open_run

    check_topk(topk)
    with closing(open_run(Path(run), checkpoint, Path(dataset) if dataset is not None else None)) as opened:
        data = opened.dataset
        splits = [data.edges(split) for split in data.manifest.edges]
        pages = Pages(opened.buffer, data.partitioning, opened.config.model.dim)
        scaling = calibrate(pages, opened.model, _validation(data), splits) if probability else None
        without_self = self_loops_are_rare(data) if exclude_self is None else exclude_self
        left_out, relations = LeftOut([] if known else splits, without_self), trained_relations(data)
        most = max(1, min(QUESTIONS, ANSWERS // min(topk, data.manifest.nodes)))
        for questions in read_questions(Path(queries) if isinstance(queries, str) else queries, data, most):
            found = answer(pages, opened.model, Asked(*questions[:3]), topk, left_out, min(BLOCK, most))
            yield Answered(data, questions, found, scaling, _untrained(data, questions, relations))
            give_back()  # else each block's arrays come on top of what the one before left in pieces


def _untrained(dataset: Dataset, questions: Questions, relations: npt.NDArray[np.bool_]) -> list[list[str]]:
    """Return for each question which of "src", "rel" and "dst" no training edge has. ``relations``: those that one has."""
    trained = zip(trained_nodes(dataset, questions.node).tolist(), relations[questions.rel].tolist())
    return [
        [name for name, known in ((("src", "dst")[side], node), ("rel", relation)) if not known]
        for side, (node, relation) in zip(questions.side.tolist(), trained)
    ]


def _validation(dataset: Dataset) -> EdgeSource:
    """Return the edges on which probabilities are fitted."""
    edges = dataset.edges("valid") if "valid" in dataset.manifest.edges else None
    if edges is None or not edges.total:
        raise UserError(
            f"{dataset.path}: has no validation split, on which probabilities are fitted: ask without --probability, or "
            "preprocess with --split or --valid and train again"
        )
    return edges
