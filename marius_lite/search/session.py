"""Search a checkpoint: nodes like others, and what completes an edge; by an index where there is one, else among all nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from marius_lite.encode.vectors import rows_behind, vector_rows
from marius_lite.errors import UserError
from marius_lite.evaluate.answers import Answers, Asked, Chosen, LeftOut, answer
from marius_lite.evaluate.pages import Pages
from marius_lite.evaluate.scorer import Scorer
from marius_lite.graph.edge_source import EdgeSource
from marius_lite.graph.raw_lookup import looked_up, raw_ids
from marius_lite.graph.self_loops import self_loops_are_rare
from marius_lite.log import log
from marius_lite.search.build import measure_of
from marius_lite.search.comparing import CosineScorer, NodeScorer
from marius_lite.search.index_folder import IndexOnDisk, is_stale, read_index
from marius_lite.search.indexed_answers import answer_by_index
from marius_lite.search.linked import links
from marius_lite.search.node_names import NodeNames
from marius_lite.search.vector_index import VectorIndex
from marius_lite.tasks.checkpoint import Checkpoint, open_checkpoint
from marius_lite.tasks.opened_links import read_model
from marius_lite.types import Ids

SIDES = ("dst", "src")
"""What may be asked for, by side."""


class Search:
    """A checkpoint that is open for search. `open_search` makes one; it is a context manager, or is closed by `close`."""

    def __init__(self, found: Checkpoint, cosine: bool, exact: bool):
        self._stack = ExitStack()
        self._stack.callback(found.close)
        self._found, self._cosine = found, cosine
        self._model = read_model(found)
        self._folder = None if exact else self._usable("cosine" if cosine else measure_of(self._model))
        self._index: VectorIndex | None = None
        if self._folder is not None:
            threads = torch.get_num_threads()
            self._index = VectorIndex.open(self._folder, found.table, found.config.model.dim, threads)
            self._stack.callback(self._index.close)
        self._names = None if self._folder is None else NodeNames.open(self._folder, found.dataset)

    def neighbors(
        self, nodes: Iterable[Any], topk: int = 10, type: str | None = None, known: bool = True
    ) -> list[dict[str, Any]]:
        """Return the nodes that are most like each of ``nodes``, raw ids: a dict {"id", "neighbors": [{"id", "score"}, ...]} for
        each, best first. A node is no neighbor of itself.

        ``topk``: how many. ``type``: the type that they should have. ``known``: whether nodes that an edge links to the node, in
        any direction and split, are given too. Raises UserError for ids and types that the dataset lacks.
        """
        asked = self._looked_up(nodes)
        splits = [] if known else links(self._splits)
        zeros = np.zeros_like(asked)
        scorer = CosineScorer(self._model) if self._cosine else NodeScorer(self._model)
        found = self._answered(scorer, Asked(zeros, asked, zeros), topk, LeftOut(splits, True, self._chosen(type)))
        own = self._raw_ids(asked)
        return [{"id": own[node], "neighbors": best} for node, best in zip(asked.tolist(), self._readable(found))]

    def answers(
        self,
        nodes: Iterable[Any],
        relation: Any = "",
        side: str = "dst",
        topk: int = 10,
        type: str | None = None,
        known: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the nodes that best complete an edge of ``relation`` with each of ``nodes``, raw ids, by the decoder's score.

        ``relation``: "" where the dataset has none. ``side``: what is asked for: "dst", of edges from the nodes; "src", of edges
        to them. ``known``: whether answers that are edges of the dataset are given too. The node itself is left out where fewer
        than one training edge in 1,000 is a self-loop. Returns what `predict_links` does: {"src", "rel", "dst", "answers"}.
        Raises UserError for ids, relations and types that the dataset lacks.
        """
        if side not in SIDES:
            raise UserError(f"side {side!r}: what is asked for is {' or '.join(SIDES)}")
        if self._cosine:
            raise UserError("answers to a relation are by the decoder's score, not by cosine: leave out cosine, or the relation")
        dataset, at = self._found.dataset, SIDES.index(side)
        asked, manifest = self._looked_up(nodes), dataset.manifest
        place = [("relation", "")]
        (rel,) = looked_up("neighbors", place, manifest.relation_ids, "relation", [str(relation)], dataset.lookup_relations)
        left_out = LeftOut([] if known else self._splits, self_loops_are_rare(dataset), self._chosen(type))
        found = self._answered(self._model, Asked(np.full_like(asked, at), asked, np.full_like(asked, rel)), topk, left_out)
        own, name = self._raw_ids(asked), dataset.relation_names()[rel]
        ends = ({"src": own[node], "rel": name, "dst": None} for node in asked.tolist())
        turned = ({"src": None, "rel": name, "dst": own[node]} for node in asked.tolist())
        return [{**edge, "answers": best} for edge, best in zip(turned if at else ends, self._readable(found))]

    def _answered(self, scorer: Scorer, asked: Asked, topk: int, left_out: LeftOut) -> Answers:
        """Return the best answers: from the index, and for questions that it leaves incomplete, or without an index, exactly."""
        if self._index is None or self._folder is None:
            return answer(self._pages, scorer, asked, topk, left_out)
        partitioning = self._found.dataset.partitioning
        found, complete = answer_by_index(self._index, self._folder, partitioning, scorer, asked, topk, left_out)
        rest = np.flatnonzero(~complete)
        if len(rest):
            exactly = answer(self._pages, scorer, Asked(*(each[rest] for each in asked)), topk, left_out)
            found.nodes[rest], found.scores[rest] = exactly
        return found

    @cached_property
    def _pages(self) -> Pages:
        """All rows, or an encoder's vectors: those of the index, or made now."""
        found, config, encoder = self._found, self._found.config, self._model.encoder
        table = self._index.table if self._index is not None else found.stored_vectors
        if table is not None:
            buffer = self._stack.enter_context(rows_behind(table, config, found.memory.slots))
        else:
            assert encoder is not None
            made = vector_rows(found.dataset, config, encoder, found.table, found.memory, found.run.path)
            buffer = self._stack.enter_context(made)
        return Pages(buffer, found.dataset.partitioning, config.model.dim)

    @cached_property
    def _splits(self) -> Sequence[EdgeSource]:
        return [self._found.dataset.edges(split) for split in self._found.dataset.manifest.edges]

    def _usable(self, measure: str) -> IndexOnDisk | None:
        """Return the run's index, if there is one of this checkpoint."""
        run, checkpoint = self._found.run.path, self._found.path.name
        folder = read_index(run, measure)
        command = f"marius-lite index {run}" + (" --cosine" if measure == "cosine" else "")
        if folder is None:
            log.info("no index: all nodes are compared; `%s` makes one", command)
        elif is_stale(folder, self._found):
            log.warning(
                "%s: made from checkpoint %s, not from %s: it is not used, and all nodes are compared: `%s` makes it again",
                *(folder.path, folder.record["checkpoint"], checkpoint, command),
            )
            return None
        return folder

    def _looked_up(self, nodes: Iterable[Any]) -> Ids:
        raw = [str(node) for node in nodes]
        lines = [(f"number {number}", node) for number, node in enumerate(raw, 1)]
        if not raw:
            raise UserError("no nodes: give at least one raw id")
        dataset = self._found.dataset
        return looked_up("nodes", lines, dataset.manifest.ids, "node", raw, self._ids)

    def _ids(self, raw: list[Any]) -> Ids:
        """Return the node ids of raw ids, -1 where unknown."""
        if self._names is None:
            return self._found.dataset.lookup_nodes(raw)
        found = self._names.lookup(raw)
        if (missing := np.flatnonzero(found < 0)).size:
            found[missing] = self._found.dataset.lookup_nodes([raw[place] for place in missing])
        return found

    def _raw_ids(self, nodes: Ids) -> dict[int, Any]:
        """Return node id -> raw id."""
        distinct = np.unique(nodes)
        if self._names is None:
            return raw_ids(self._found.dataset, distinct)
        return dict(zip(distinct.tolist(), self._names.raw(distinct).to_pylist()))

    def _chosen(self, type: str | None) -> Chosen | None:
        """Return which nodes of a partition have a type."""
        if type is None:
            return None
        dataset = self._found.dataset
        names = dataset.manifest.node_types
        if names is None or dataset.types is None:
            raise UserError(f"--type {type}: the nodes of {dataset.path} have no types: preprocess stores them with --node-types")
        if type not in names:
            shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise UserError(f"--type {type}: no node of {dataset.path} has this type: there are {shown}")
        code, types, partitioning = names.index(type), dataset.types, dataset.partitioning
        return lambda k: types.codes(partitioning.range(k).start, partitioning.range(k).stop) == code

    def _readable(self, found: Answers) -> Iterator[list[dict[str, Any]]]:
        names = self._raw_ids(found.nodes[found.nodes >= 0])
        for nodes, scores in zip(found.nodes.tolist(), found.scores.tolist()):
            yield [{"id": names[node], "score": score} for node, score in zip(nodes, scores) if node >= 0]

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_search(
    run: Path | str, cosine: bool = False, exact: bool = False, checkpoint: str | None = None, dataset: Path | str | None = None
) -> Search:
    """Open a run for search: `Search.neighbors` and `Search.answers`.

    An index that `index_run` made of the checkpoint is read into memory, and used. Without one, or with ``exact``, all nodes are
    compared. ``cosine``: compare by the cosine of angles instead of the model's own similarity. ``dataset``: where the run's
    dataset is, if it was moved. Raises UserError for a run of another task, and where faiss is missing for an index.
    """
    found = open_checkpoint(Path(run), checkpoint, Path(dataset) if dataset is not None else None)
    try:
        return Search(found, cosine, exact)
    except BaseException:
        found.close()
        raise
