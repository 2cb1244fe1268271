"""How strongly N3 holds rows back, where a configuration leaves that to the graph."""

from __future__ import annotations

from marius_lite.config.facts import Facts
from marius_lite.config.schema import Config

OF_A_NODE = 0.4
"""Weight that the edges of a node of mean degree share. N3 counts a node once for each edge it has, so that the same factor holds
rows back the more, the more edges a node has, where they need it the less. Measured: docs/performance.md."""
MOST = 0.2


def with_strength(config: Config, facts: Facts) -> Config:
    """``regularizer.weight`` as a number, of three digits."""
    if config.regularizer.weight != "auto":
        return config
    degree = 2 * facts.splits["train"] / facts.nodes
    weight = min(MOST, OF_A_NODE / max(degree, 1e-9)) if config.regularizer.name != "none" else 0.0
    return config.model_copy(update={"regularizer": config.regularizer.model_copy(update={"weight": float(f"{weight:.3g}")})})
