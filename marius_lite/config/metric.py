"""The figure of an evaluation by which checkpoints compare (`training.metric`)."""

from __future__ import annotations

from typing import Literal

METRICS = {"link_prediction": ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank"),
           "node_classification": ("accuracy", "macro_f1", "micro_f1", "roc_auc", "average_precision", "log_loss")}
"""Of each task; ``auto`` is the first, or MULTI_LABEL."""
MULTI_LABEL = "micro_f1"
"""``auto`` where nodes may have several classes: all of them right is rare."""
Metric = Literal["auto", "mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "accuracy", "macro_f1", "micro_f1", "roc_auc",
                 "average_precision", "log_loss"]
LESS_IS_BETTER = ("mean_rank", "log_loss")


def better(metric: str, value: float | None, than: float | None) -> bool:
    """Whether a figure is better than another. A missing figure (None) is worse than any."""
    if value is None or than is None:
        return value is not None
    return value < than if metric in LESS_IS_BETTER else value > than
