"""Make remarks on a run's settings before it starts. They do not stop it."""

from __future__ import annotations

from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config
from marius_lite.graph.manifest import Manifest


def unused(manifest: Manifest, config: Config) -> list[str]:
    """Return the parts of the dataset that the run does not use, one line each."""
    carried = manifest.edge_columns or ()
    advice = " (`sampling.weighted: true` draws neighbours by them)" if config.encodes else ""
    said = {
        f"edges have weights, which this run does not use{advice}": "weight" in carried and not config.sampling.weighted,
        "edges have times, which training does not use": "time" in carried,
        "nodes have features, which this run does not use (an encoder reads them: `model.encoder: sage`)": manifest.features
        is not None
        and not config.reads_features,
    }
    return [*(line for line, so in said.items() if so), *planning_of(config).unused(manifest.labels is not None)]


def doubtful(manifest: Manifest, config: Config) -> list[str]:
    """Return the settings that work, but are probably a mistake, one line each."""
    return planning_of(config).doubtful(config, manifest.relations)
