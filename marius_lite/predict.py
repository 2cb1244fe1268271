"""Answer questions like (source, relation, ?), one partition at a time; or give the classes of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.evaluate.answers import Answers, Asked, LeftOut, answer
from marius_lite.evaluate.pages import Pages
from marius_lite.files import reading
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.ids import IdKind
from marius_lite.graph.raw_lookup import RAW_TYPES, RawId, looked_up, raw_ids
from marius_lite.graph.self_loops import self_loops_are_rare
from marius_lite.graph.trained import trained_nodes, trained_relations

Ids = npt.NDArray[np.int64]


class Questions(NamedTuple):
    """Questions: side 0 asks (node, rel, ?), side 1 asks (?, rel, node). Each array is (n,) int64.

    ``raw``: (src, rel, dst) as raw ids, None for what is asked.
    """

    side: Ids
    node: Ids
    rel: Ids
    raw: list[tuple[RawId | None, RawId, RawId | None]]


Triple = Sequence[Any]
"""Raw ids (src, rel, dst), or (src, dst) where the dataset has no relations; None for what is asked."""


def predict_links(
    run: Path | str,
    queries: Path | str | Iterable[Triple],
    topk: int = 10,
    known: bool = False,
    checkpoint: str | None = None,
    exclude_self: bool | None = None,
    dataset: Path | str | None = None,
) -> list[dict[str, Any]]:
    """Answer every query with a checkpoint's model.

    ``queries``: a file with one query a line, or rows like ("a", "likes", None) of a list or an array. Returns a dict for each:
    {"src", "rel", "dst", "answers": [{"id", "score"}, ...], "untrained": [...]}, with None for what was asked. Raw ids, those of
    the query and those of its answers, are integers where the dataset's are integers, else strings; so are relations, by theirs.
    ``untrained`` names the parts "src", "rel" or "dst" that no training edge has: the model learned nothing about them. It
    knows at most the features of such a node.

    ``topk``: how many answers. ``known``: whether answers that are edges of the dataset are given too. ``exclude_self``: whether
    the node that the query is about is left out; None: where fewer than one training edge in 1,000 is a self-loop. ``dataset``:
    where the run's dataset is, if it was moved. Raises UserError for queries with mistakes.
    """
    from marius_lite.tasks.opened_links import open_run

    with closing(open_run(Path(run), checkpoint, Path(dataset) if dataset is not None else None)) as opened:
        data = opened.dataset
        questions = read_questions(Path(queries) if isinstance(queries, str) else queries, data)
        splits = [] if known else [data.edges(split) for split in data.manifest.edges]
        without_self = self_loops_are_rare(data) if exclude_self is None else exclude_self
        pages = Pages(opened.buffer, data.partitioning, opened.config.model.dim)
        found = answer(pages, opened.model, Asked(*questions[:3]), topk, LeftOut(splits, without_self))
        return [
            {**answers, "untrained": untrained}
            for answers, untrained in zip(readable(data, questions, found), _untrained(data, questions))
        ]


def read_questions(queries: Path | Iterable[Triple], dataset: Dataset) -> Questions:
    """Read queries: lines ``src,rel,?`` or ``?,rel,dst`` of raw ids (``src,?`` or ``?,dst`` without relations), or rows of them.

    Lines have commas or tabs, and may be blank. Rows have None or "?" for what is asked. Raises UserError, which names the line
    (from 1) or the row (from 0), for anything else, and for ids that the dataset lacks.
    """
    names = dataset.relation_names()
    fields = 2 if names == [""] else 3
    path = queries if isinstance(queries, Path) else "queries"
    lines = list(_question_lines(queries, fields) if isinstance(queries, Path) else _question_rows(queries, fields))
    if not lines:
        raise UserError(f"{path}: no queries: give at least one, for example {_example(fields)}")
    asked = [parts for _, parts in lines]
    side = np.array([0 if src != "?" else 1 for src, _, _ in asked])
    ids = [src if src != "?" else dst for src, _, dst in asked]
    kind, relations = dataset.manifest.ids, dataset.manifest.relation_ids
    node = looked_up(path, lines, kind, "node", ids, dataset.lookup_nodes)
    rel = looked_up(path, lines, relations, "relation", [rel for _, rel, _ in asked], dataset.lookup_relations)
    return Questions(side, node, rel, [(_raw(src, kind), RAW_TYPES[relations](rel), _raw(dst, kind)) for src, rel, dst in asked])


def _raw(text: str, kind: IdKind) -> RawId | None:
    """Return a part of a query as a raw id, None for what is asked."""
    return None if text == "?" else RAW_TYPES[kind](text)


def _untrained(dataset: Dataset, questions: Questions) -> Iterator[list[str]]:
    """Yield for each question which of "src", "rel" and "dst" no training edge has."""
    nodes, relations = trained_nodes(dataset, questions.node), trained_relations(dataset)[questions.rel]
    for side, node, relation in zip(questions.side.tolist(), nodes.tolist(), relations.tolist()):
        yield [name for name, trained in ((("src", "dst")[side], node), ("rel", relation)) if not trained]


Question = tuple[str, tuple[str, str, str]]
"""(where it was found, (source, relation, destination) as text, with ? for what is asked)."""


def _question_rows(rows: Iterable[Triple], fields: int) -> Iterator[Question]:
    for number, row in enumerate(rows):
        parts = ["?" if part is None else str(part) for part in row] if isinstance(row, (tuple, list, np.ndarray)) else []
        if len(parts) != fields or (parts[0] == "?") == (parts[-1] == "?"):
            raise UserError(f"queries, row {number}: found {row!r}: a query is {_example(fields).replace('?', 'None')}")
        yield f"row {number}", (parts[0], parts[1] if fields == 3 else "", parts[-1])


def _question_lines(path: Path, fields: int) -> Iterator[Question]:
    for number, line in enumerate(_text(path).splitlines(), 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("\t" if "\t" in line else ",")]
        if len(parts) != fields or (parts[0] == "?") == (parts[-1] == "?"):
            raise UserError(f"{path}, line {number}: found {line.strip()!r}: a query is {_example(fields)}")
        yield f"line {number}", (parts[0], parts[1] if fields == 3 else "", parts[-1])


def _text(path: Path) -> str:
    with reading(path):
        data = path.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: cannot be read as text: {error}") from error


def _example(fields: int) -> str:
    return "src,rel,? or ?,rel,dst" if fields == 3 else "src,? or ?,dst, for the dataset has one relation alone"


def readable(dataset: Dataset, questions: Questions, answers: Answers) -> Iterator[dict[str, Any]]:
    """Yield a dict for each question with raw ids, as `predict_links` gives them."""
    names = raw_ids(dataset, np.unique(answers.nodes[answers.nodes >= 0]))
    for (src, rel, dst), nodes, scores in zip(questions.raw, answers.nodes.tolist(), answers.scores.tolist()):
        best = [{"id": names[node], "score": score} for node, score in zip(nodes, scores) if node >= 0]
        yield {"src": src, "rel": rel, "dst": dst, "answers": best}


def task_of(run: Path | str) -> str:
    """Return the task of a run: link_prediction or node_classification. Raises UserError for a folder that is no run."""
    from marius_lite.checkpoint.run_folder import RunFolder, read_record

    return str(read_record(RunFolder(Path(run)))["config"]["task"])


def reads_features(run: Path | str) -> bool:
    """Return whether the model of a run begins with the nodes' features. Raises UserError for a folder that is no run."""
    from marius_lite.checkpoint.run_folder import RunFolder, config_of, read_record

    folder = RunFolder(Path(run))
    return config_of(folder, read_record(folder)).reads_features


def predict_nodes(
    run: Path | str,
    nodes: Path | str | Iterable[Any] | None = None,
    checkpoint: str | None = None,
    dataset: Path | str | None = None,
) -> Iterator[dict[str, Any]]:
    """Classify nodes with a checkpoint. ``nodes``: a file with one raw id a line, or a list of raw ids; None: all nodes.

    Yields a dict for each node, in order of node id: {"id", "split", "class", "probabilities": {class: probability}}. Classes
    have their names, where the dataset has names. Where nodes may have several classes, "classes" instead of "class" lists those
    whose probability is at least a half. ``dataset``: where the run's dataset is, if it was moved. Raises UserError for a run of
    another task, and for ids that the dataset lacks.
    """
    from marius_lite.tasks.checkpoint import open_checkpoint
    from marius_lite.tasks.class_probabilities import SPLITS, class_probabilities, require_classes
    from marius_lite.tasks.labelling import labelling

    with closing(open_checkpoint(Path(run), checkpoint, Path(dataset) if dataset is not None else None)) as found:
        require_classes(found)
        labels = found.dataset.required_labels()
        kind = labelling(found.dataset)
        names: list[Any] = [*(found.dataset.manifest.class_names or range(labels.classes))]
        wanted = None if nodes is None else read_nodes(Path(nodes) if isinstance(nodes, str) else nodes, found.dataset)
        with class_probabilities(found, wanted) as classified:
            for each in classified:
                for raw, split, answer, chances in zip(
                    each.raw.to_pylist(), each.split.tolist(), each.answers.tolist(), each.probabilities.tolist()
                ):
                    yield {
                        "id": raw,
                        "split": SPLITS[split],
                        kind.column: kind.named(answer, names),
                        "probabilities": dict(zip(names, chances)),
                    }


def read_nodes(nodes: Path | Iterable[Any], dataset: Dataset) -> Ids:
    """Read raw ids from a file, one in each line, or from a list. Returns their node ids, ascending, each once."""
    path = nodes if isinstance(nodes, Path) else "nodes"
    if isinstance(nodes, Path):
        lines = [(f"line {number}", line.strip()) for number, line in enumerate(_text(nodes).splitlines(), 1) if line.strip()]
    else:
        lines = [(f"row {number}", str(raw)) for number, raw in enumerate(nodes)]
    return np.unique(looked_up(path, lines, dataset.manifest.ids, "node", [raw for _, raw in lines], dataset.lookup_nodes))
