"""By which figure models of classes are compared in `made_up.py`, and what it is for peers."""

from __future__ import annotations

from typing import Any

import torch

from marius_lite.ranks import average_precision, roc_auc

RARE, VERY_RARE = 0.2, 0.02
"""Shares of one of two classes below which ROC AUCs are compared, and average precisions: of very rare ones AUCs are near 1."""


def figure_of(y: Any) -> str:
    """Return the name of the figure, as `eval` has it, for classes (n,), -1 for none, or (n, classes) of 0 and 1."""
    if y.ndim == 2:
        return "micro_f1"
    share = float((y == 1).sum()) / float((y >= 0).sum()) if int(y.max()) == 1 else 1.0
    return "average_precision" if share < VERY_RARE else "roc_auc" if share < RARE else "accuracy"


def classed_right(out: torch.Tensor, y: torch.Tensor) -> float:
    """Return that figure of scores (n, classes)."""
    figure = figure_of(y)
    if figure == "micro_f1":
        said, truth = out > 0, y > 0
        return float(2 * (said & truth).sum() / (said.sum() + truth.sum()))
    if figure == "accuracy":
        return float((out.argmax(1) == y).float().mean())
    odds, judge = out[:, 1] - out[:, 0], roc_auc if figure == "roc_auc" else average_precision
    return judge(*(odds[y == each].sort().values.numpy() for each in (1, 0)))
