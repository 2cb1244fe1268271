"""Rank the edges of a split with the model and the rows of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from marius_lite.config.memory import EVALUATION_BYTES, ranking_bytes
from marius_lite.config.schema import Config
from marius_lite.encode.vectors import vector_rows
from marius_lite.evaluate.edges import select_edges
from marius_lite.evaluate.ranking import QueryNode, RankingOptions, rank
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.popularity import degrees
from marius_lite.graph.self_loops import self_loop_share, self_loops_are_rare
from marius_lite.log import log
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.rows.resident import ResidentRows
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.tasks.task import Setting

MOST_SELF_BEST = 0.05
"""The share of queries whose own node scores best. Above it a warning is due, unless about as many training edges are loops."""

CHANCE = 0.45
"""The mean rank, as a share of the candidates, above which answers are hardly better than drawn by chance, which gives 0.5."""
FEW_CANDIDATES = 100
"""Among fewer candidates a mean rank says nothing of this."""


@dataclass(frozen=True)
class RankedEdges:
    """What is ranked, and with what.

    ``split``: its name. ``count``: how many of its edges, None for all. ``exclude_self``: whether a node is left out of the
    candidates for questions about itself; None: where hardly any training edge is a self-loop. ``compared``: whether the figures
    of the other kind, and those by the degree of the answer, stand beside these. ``memory``: bytes beside the buffer.
    """

    split: str
    count: int | None = None
    exclude_self: bool | None = None
    compared: bool = False
    memory: int = EVALUATION_BYTES


def evaluate_trained(setting: Setting, rows: ResidentRows, model: LinkPredictionModel) -> dict[str, Any]:
    """Return the figures that ``evaluation`` asks for while a run trains.

    An encoder's vectors lie in the run's folder until it is done.
    """
    dataset, config = setting.dataset, setting.config
    memory = ranking_bytes(config, setting.memory, trains=True)
    ranked = RankedEdges(config.evaluation.split, int(config.evaluation.max_edges), memory=memory)
    checksums = rows.release()
    if model.encoder is None:
        return evaluate_split(dataset, rows.main, model, config, ranked)
    learned = rows.learned.expecting(checksums) if rows.learned else None
    with vector_rows(dataset, config, model.encoder, learned, setting.memory, setting.folder) as encoded:
        return evaluate_split(dataset, encoded, model, config, ranked)


def evaluate_split(
    dataset: Dataset, buffer: PartitionBuffer, model: LinkPredictionModel, config: Config, ranked: RankedEdges
) -> dict[str, Any]:
    """Return the filtered ranking of the edges ``ranked`` among the rows behind ``buffer``."""
    excluded = self_loops_are_rare(dataset) if ranked.exclude_self is None else ranked.exclude_self
    query_node: QueryNode = "left_out" if excluded else "candidate"
    settings = config.evaluation
    options = RankingOptions(
        candidates=None if settings.candidates == "all" else settings.candidates,
        filtered=settings.filtered,
        ties=settings.ties,
        seed=config.training.seed,
        memory=ranked.memory,
        query_node=query_node,
        compared=ranked.compared,
        split=ranked.split,
        degrees=partial(degrees, dataset.edges("train")) if ranked.compared else None,
    )
    edges = dataset.edges(ranked.split)
    return rank(
        buffer,
        dataset.partitioning,
        config.model.dim,
        model,
        select_edges(edges, ranked.count, config.training.seed),
        [dataset.edges(name) for name in dataset.manifest.edges],
        options,
        dataset.relation_names(),
    )


def warn_of_self_answers(result: dict[str, Any], dataset: Dataset) -> None:
    """Warn where nodes are the best answers to questions about themselves far more often than training edges are loops."""
    if (share := result["self_best"] or 0) > MOST_SELF_BEST and share > 2 * (loops := self_loop_share(dataset)):
        log.warning(
            "the node asked about scores best of all for %.1f %% of its own questions (self_best), but %.2g %% of the "
            "training edges lead from a node to itself: %s",
            100 * share,
            100 * loops,
            "it is left out here, and from the answers of `predict`"
            if result["query_node"] == "left_out"
            else "leave it out of figures and answers with `--exclude-self`",
        )


def warn_of_chance(result: dict[str, Any], candidates: int) -> None:
    """Warn where answers are ranked hardly better than by chance, among so many candidates."""
    rank = result["mean_rank"]
    if rank is not None and candidates >= FEW_CANDIDATES and rank > CHANCE * candidates:
        log.warning(
            "the mean rank is %s of %s candidates, hardly better than chance: the model has not learned what this split asks; "
            "train longer where figures still rise; else stop earlier, regularize more (regularizer.weight), take another "
            "decoder (model.decoder), or more training edges",
            f"{rank:,.0f}",
            f"{candidates:,}",
        )
