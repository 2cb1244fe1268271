"""Compare checkpoints by one figure of their evaluations (`training.metric`)."""

from __future__ import annotations

LESS_IS_BETTER = ("mean_rank", "log_loss")


def better(metric: str, value: float | None, than: float | None) -> bool:
    """Return whether a figure is better than another. A missing figure (None) is worse than any."""
    if value is None or than is None:
        return value is not None
    return value < than if metric in LESS_IS_BETTER else value > than
