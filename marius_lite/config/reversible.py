"""Encoders whose layers between the first and the last are reversible couplings (``model.reversible``).

Their inputs are made again on the way back instead of kept (`nn.encoders.reversible`). That takes layers as wide as each other,
and batches where all layers have the same nodes.
"""

from __future__ import annotations

from marius_lite.config.planning import Rules
from marius_lite.config.schema import Config

LEAST_WIDTHS = 2
"""The fewest of ``model.layers``: one convolution makes rows so wide, and each further width is a coupling."""


def rules(config: Config) -> Rules:
    """Return the rules of settings for reversible couplings."""
    model = config.model
    groups, widths, wanted = model.reversible, model.layers, f"`model.reversible` is {model.reversible}, but"
    if not groups:
        return []
    return [
        (groups == 1, "`model.reversible` is 1: a group is made from the others, so there must be 2 or more; or 0 for none"),
        (
            not config.encodes or ":" in model.encoder,
            f"{wanted} `model.encoder` is {model.encoder}: choose sage, gcn, gat or rgcn",
        ),
        (
            not config.trains_clusters,
            f"{wanted} `training.method` is {config.training.method}: layers are reversible only where all have the same nodes, "
            "set it to cluster",
        ),
        (
            len(widths) < LEAST_WIDTHS or len(set(widths)) > 1,
            f"{wanted} `model.layers` is {list(widths)}: layers are reversible only where their widths are equal, give two or "
            "more, for example {width: 128, count: 63}",
        ),
        (
            any(width % groups for width in widths),
            f"{wanted} `model.layers` has {max(widths, default=0)}: the groups must divide it",
        ),
        (
            model.encoder == "gat" and any(width // groups % model.heads for width in widths),
            f"{wanted} `model.heads` is {model.heads}: heads must divide the width of a group",
        ),
        (model.norm == "batch", f"{wanted} `model.norm` is batch, whose means would count each batch twice: use layer"),
        (model.residual, f"{wanted} `model.residual` is true: couplings add their input already, set it to false"),
        (
            isinstance(config.optimizer.dense.weight_decay, tuple),
            f"{wanted} `optimizer.dense.weight_decay` has a number for each layer: give one number for all",
        ),
        (
            config.device.startswith("cuda"),
            f"{wanted} `device` is {config.device}: couplings are trained on the CPU so far, leave it out",
        ),
    ]
