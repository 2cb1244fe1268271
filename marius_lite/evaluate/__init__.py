"""Evaluate models: rank true edges among all nodes, exactly, filtered and in bounded memory; or measure classifications."""

from marius_lite.evaluate.edges import EdgeBlock, select_edges
from marius_lite.evaluate.pages import Buffer
from marius_lite.evaluate.ranking import Ranker, RankingOptions, rank
from marius_lite.evaluate.scorer import Scorer
from marius_lite.graph.edge_source import EdgeSource

__all__ = ["Buffer", "EdgeBlock", "EdgeSource", "Ranker", "RankingOptions", "Scorer", "rank", "select_edges"]
