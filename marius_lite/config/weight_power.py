"""In proportion to which power of their weights edges are trained (`training.weight_power`)."""

from __future__ import annotations

from marius_lite.config.planning import Rules
from marius_lite.config.schema import Config

POWERS = (1.0, 0.5, 0.25, 0.0, -0.25, -0.5, -1.0)
"""Those that there are: of square roots and quotients alone, which have the same bits on every processor."""
WEIGHT_BYTES = 4
"""Bytes of an edge's weight."""


def power_of(config: Config) -> float:
    """Return the power; 0: all edges are trained alike. It is resolved before training."""
    power = config.training.weight_power
    return 0.0 if power == "auto" else power


def rules(config: Config) -> Rules:
    """Return the rules for powers that there are not, and for runs that train no edges."""
    power = power_of(config)
    return [
        (
            power not in POWERS,
            f"`training.weight_power` is {power:g}: choose one of {', '.join(f'{each:g}' for each in POWERS)}, or auto",
        ),
        (
            power != 0 and config.task != "link_prediction",
            f"`training.weight_power` is {power:g}, but `task` is {config.task}: only edges are trained by weight, leave it out "
            "(`model.weight_unit` lets neighbours count by weights)",
        ),
    ]
