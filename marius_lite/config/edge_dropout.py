"""Find which share of its sampled edges a batch leaves out each time that it is trained (`sampling.edge_dropout`)."""

from __future__ import annotations

from marius_lite.config.planning import Rules
from marius_lite.config.schema import Config
from marius_lite.errors import UserError

OF_KEPT_SAMPLES = 0.3
"""The share where samples serve several epochs, and nothing else is said."""


def edge_dropout(config: Config) -> float:
    """Return the share. ``config.device`` is resolved already. Raises UserError where a GPU would have to leave edges out."""
    asked = config.sampling.edge_dropout
    if asked == "auto":
        return OF_KEPT_SAMPLES if config.sampling.refresh_epochs > 1 and config.device == "cpu" else 0.0
    if asked and config.device != "cpu":
        raise UserError(
            f"`sampling.edge_dropout` is {asked}, but `device` is {config.device}: edges are left out on the CPU so far, set "
            "it to 0, or use `device: cpu`"
        )
    return asked


def rules(config: Config) -> Rules:
    """Return the rules for runs that sample no edges to leave out."""
    asked, method = config.sampling.edge_dropout, config.training.method
    some = asked not in ("auto", 0)
    return [
        (
            some and not config.encodes,
            f"`sampling.edge_dropout` is {asked}, but `model.encoder` is none: only an encoder samples edges, remove it",
        ),
        (
            some and method == "layerwise",
            f"`sampling.edge_dropout` is {asked}, but `training.method` is {method}: nothing is sampled, remove it",
        ),
    ]
