"""Choose how strong the regularizer is where the configuration leaves it open."""

from __future__ import annotations

from marius_lite.config.facts import Facts
from marius_lite.config.schema import Config

SPARSE = 5
"""Training edges for each node below which a graph is sparse. Published weights of N3 are large on such graphs (WN18, WN18RR:
0.1) and smaller on denser ones (FB15k-237: 0.05; Lacroix et al., ICML 2018)."""
ON_SPARSE, ON_OTHERS = 0.1, 0.05


def regularizer_weight(config: Config, facts: Facts) -> float:
    """Return the weight of the regularizer."""
    settings = config.regularizer
    if settings.weight != "auto":
        return settings.weight
    if settings.name == "none":
        return 0.0
    return ON_SPARSE if int(facts.bucket_counts.sum()) < SPARSE * facts.nodes else ON_OTHERS
