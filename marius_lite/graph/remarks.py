"""Make remarks on a run's settings before it starts. They do not stop it."""

from __future__ import annotations

from marius_lite.config import lanes
from marius_lite.config.edge_weights import WEIGHING, may_weigh, weighs
from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config
from marius_lite.config.weight_power import power_of
from marius_lite.graph.manifest import Manifest


def unused(manifest: Manifest, config: Config) -> list[str]:
    """Return the parts of the dataset that the run does not use, one line each."""
    carried = manifest.carried
    said = {
        _unused_weights(config): "weight" in carried
        and not (config.sampling.weighted or weighs(config) or config.model.weight_bounds or power_of(config)),
        "edges have times, which training does not use": "time" in carried,
        f"nodes have features, which this run does not use ({_reader(manifest, config)})": (
            manifest.features is not None and not config.reads_features
        ),
    }
    return [
        *(line for line, so in said.items() if so),
        *planning_of(config).unused(manifest.labels is not None),
        *([] if _relies_on_figures(config) else _unmeasured(manifest, config)),
    ]


def doubtful(manifest: Manifest, config: Config) -> list[str]:
    """Return the settings that work, but are probably a mistake, one line each."""
    return [
        *planning_of(config).doubtful(config, manifest.relations),
        *(_unmeasured(manifest, config) if _relies_on_figures(config) else []),
        *_apart(manifest, config),
        *lanes.doubtful(config, manifest.partitions),
    ]


def _reader(manifest: Manifest, config: Config) -> str:
    """Return what would read features."""
    if config.encodes:
        return "`model.inputs` is embeddings: features or both reads them"
    in_edges = "" if manifest.adjacency else ", for which `preprocess` needs --adjacency in"
    return f"an encoder reads them: `model.encoder: sage`{in_edges}; with `model.inputs: both` where nodes have equal rows"


def _unused_weights(config: Config) -> str:
    """Return the remark that the edges' weights are not used, with what would use them."""
    if may_weigh(config):
        return "edges have weights, but all edges count alike (`model.weight_unit` is 0)"
    may = planning_of(config).unit == "nodes" or config.model.encoder in WEIGHING
    why = f"{', '.join(WEIGHING)} do: `model.weight_unit`" if may else "`training.weight_power` is 0"
    return f"edges have weights, which this run does not use ({why})"


def _apart(manifest: Manifest, config: Config) -> list[str]:
    """Return a line where cluster batches train nodes that lie apart from their neighbours."""
    if not config.trains_clusters or manifest.training != "first" or manifest.training_partitions == manifest.partitions:
        return []
    return [
        f"training nodes fill {manifest.training_partitions} of {manifest.partitions} partitions, apart from most of their "
        "neighbours, which cluster batches then miss: preprocess with --training-partitions all"
    ]


def _relies_on_figures(config: Config) -> bool:
    """Whether the settings leave it to figures when training stops, or when learning rates drop, with epochs enough for that."""
    epochs, schedule = config.training.epochs, config.optimizer.schedule
    return 0 < config.training.early_stopping < epochs or (schedule.name == "plateau" and schedule.patience < epochs)


def _unmeasured(manifest: Manifest, config: Config) -> list[str]:
    """Return a line where no validation split is there to be evaluated while training. It says what is not done without."""
    unit = planning_of(config).unit
    kept, option = (
        (manifest.edges, "--split 0.9,0.05,0.05") if unit == "edges" else (manifest.node_split, "--node-split 0.6,0.2,0.2")
    )
    if config.evaluation.every_epochs or (kept or {}).get("valid"):
        return []
    undone = [
        *(["nothing stops training early"] if config.training.early_stopping else []),
        *(["nothing lowers learning rates"] if config.optimizer.schedule.name == "plateau" else []),
        "no figure chooses a checkpoint",
    ]
    return [
        f"the dataset has no validation {unit}: {', '.join(undone)}. All epochs are trained (`training.epochs` is "
        f"{config.training.epochs:,}), and the last checkpoint counts: set `training.epochs`, or keep {unit} for validation with "
        f"`preprocess {option}`"
    ]
