"""Make remarks on a run's settings before it starts. They do not stop it."""

from __future__ import annotations

from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config
from marius_lite.graph.manifest import Manifest


def unused(manifest: Manifest, config: Config) -> list[str]:
    """Return the parts of the dataset that the run does not use, one line each."""
    carried, weighted = manifest.edge_columns or (), config.encodes and config.sampling.weighted
    advice = "" if not config.encodes else " (`sampling.weighted: true` draws neighbours by them)"
    of_nodes = planning_of(config).unit == "nodes"
    said = {f"edges have weights, which this run does not use{advice}": "weight" in carried and not weighted,
            "edges have times, which training does not use": "time" in carried,
            "nodes have features, which this run does not use (an encoder reads them: `model.encoder: sage`)":
                manifest.features is not None and not config.reads_features,
            "nodes have labels, which link prediction does not use (`task: node_classification` does)":
                manifest.labels is not None and not of_nodes}
    return [line for line, so in said.items() if so]


def doubtful(manifest: Manifest, config: Config) -> list[str]:
    """Return the settings that work, but are probably a mistake, one line each."""
    if planning_of(config).unit == "edges" and config.model.decoder == "dot" and manifest.relations > 1:
        return [f"`model.decoder` is dot, which scores all {manifest.relations:,} relations of the dataset alike: distmult, "
                "complex, transe or rotate tell them apart"]
    return []
